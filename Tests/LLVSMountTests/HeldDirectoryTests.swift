import Foundation
import Platform
import TestSupport
import Testing

extension Mounted {
  /// A daemon that dies while it tells the kernel of a name in a directory that is held by a program which
  /// waits for the daemon: the thread that tells cannot be killed then, nor the program.
  @Suite(.serialized) struct HeldDirectoryTests {
    /// Stops the threads that answer once an `undo` was taken, has a program make a file, and kills the daemon
    /// (with the signal that is given) when the thread that tells of names waits for the directory.
    private static let script = #"""
      home, daemon, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
      SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
      libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
      libc.waitpid.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
      quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd='/')

      def threads(name):
          # name and state of a task: proc_pid_stat(5)
          found = []
          for task in os.listdir('/proc/%d/task' % daemon):
              try: text = get('/proc/%d/task/%s/stat' % (daemon, task)).decode()
              except OSError: continue
              if text[text.index('(') + 1:text.rindex(')')] == name:
                  found.append((int(task), text[text.rindex(')') + 2]))
          return found

      def stop(name):
          for task, _ in threads(name):
              if libc.ptrace(SEIZE, task, None, None) != 0: sys.exit('ptrace: %d' % ctypes.get_errno())
              libc.ptrace(INTERRUPT, task, None, None)
              libc.waitpid(task, None, 0x40000000)  # __WALL
              stopped.append(task)

      def waits():
          for _ in range(60):
              if any(state == 'D' for _, state in threads('llvs-notify')): return True
              time.sleep(0.01)
          return False

      count, words = 400, ('undo', 'redo')
      for side in 'ab':
          for index in range(count): put('%s/%s%d' % (home, side, index), side)
          if side == 'b':
              for index in range(count): os.unlink('%s/a%d' % (home, index))
          put(home + '/.llvs/control', 'commit')
      for attempt in range(40):
          stopped = []
          undo = subprocess.Popen(['bash', '-c', "echo %s > '%s/.llvs/control'" % (words[attempt % 2], home)], **quiet)
          time.sleep(0.005 * (attempt + 1))
          stop('llvs-warden')
          stop('llvs-fuse')
          make = subprocess.Popen(['touch', home + '/.made.swp'], **quiet)
          if waits():
              os.kill(daemon, end)
              print('%d %d' % (undo.pid, make.pid))
              sys.exit(0)
          for task in stopped: libc.ptrace(DETACH, task, None, None)
          undo.wait(); make.wait(); os.unlink(home + '/.made.swp')
      sys.exit('the state was not met')
      """#

    /// Kills the daemon in that state; what the programs are that wait in the mount.
    private static func dieHolding(
      _ mounted: MountedStore, with signal: Int32 = SIGKILL
    ) throws -> [Int32] {
      let file = mounted.directory + "/hold.py"
      try mounted.savePython(Self.script, to: file)
      let result = try TestSupport.shell(
        "python3 '\(file)' '\(mounted.path)' \(mounted.daemon) \(signal)", seconds: 100)
      try #require(result.status == 0, "\(result.status): \(result.output)\(mounted.daemonLog)")
      return result.output.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    }

    /// Whether a process has not ended.
    private static func lives(_ id: Int32) -> Bool {
      let stat = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
      // Nobody may have asked yet how it ended.
      return !stat.isEmpty && !stat.contains(") Z ")
    }

    @Test(
      "a daemon that dies while it tells of a name in a directory that a program holds leaves a mount that says so",
      .timeLimit(.minutes(3)))
    func diesWhileTelling() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(running: ["prlimit", "--core=0:0"])
      let programs = try Self.dieHolding(mounted)
      // Without this nobody could kill what hangs.
      defer { _ = try? TestSupport.shell("umount -f '\(mounted.path)'") }
      #expect(
        eventually(seconds: 10) { !programs.contains(where: Self.lives) },
        "programs wait for a daemon that is dead")
      let said = try TestSupport.shell("timeout -s KILL 5 ls '\(mounted.path)'")
      #expect(said.output.contains("Transport endpoint is not connected"), "\(said)")
      try mounted.kill()
      try mounted.mount()
      try mounted.verify()
    }
  }
}
