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
              # What is held here goes on when this ends: not before the signal has come to all.
              time.sleep(1)
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

    /// True if a process has not ended.
    private static func lives(_ id: Int32) -> Bool {
      let stat = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
      // Nobody may have asked yet how it ended.
      return !stat.isEmpty && !stat.contains(") Z ")
    }

    /// The process that watches the daemon: it has the other end of the one descriptor of a thread.
    private static func watcher(of mounted: MountedStore) throws -> Int32 {
      let found = try TestSupport.shell(
        #"""
        for thread in /proc/\#(mounted.daemon)/task/*; do
          [[ $(< $thread/comm) != llvs-life ]] || pipe=$(readlink $thread/fd/*)
        done
        for process in /proc/[0-9]*; do
          [[ $(cat $process/comm 2> /dev/null) == llvs-watch ]] || continue
          if readlink $process/fd/* | grep -qxF "$pipe"; then echo ${process#/proc/}; fi
        done
        """#)
      return try #require(Int32(found.output.trimmed), "\(found)")
    }

    /// A way for a daemon to die, and whether Swift's runtime is to tell of crashes.
    struct Death: CustomTestStringConvertible {
      var signal: Int32
      var isTold = false
      var testDescription: String { "signal \(signal)\(isTold ? ", told by the runtime" : "")" }
    }

    @Test(
      "a daemon that dies while it tells of a name in a directory that a program holds leaves a mount that says so",
      .timeLimit(.minutes(5)),
      arguments: [
        Death(signal: SIGKILL), Death(signal: SIGSEGV), Death(signal: SIGABRT),
        Death(signal: SIGSEGV, isTold: true), Death(signal: SIGABRT, isTold: true),
      ])
    func diesWhileTelling(_ death: Death) throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      let telling = "enable=\(death.isTold ? "yes,symbolicate=off,color=no" : "no")"
      try mounted.mount(
        running: ["prlimit", "--core=0:0"], environment: ["SWIFT_BACKTRACE": telling])
      let programs = try Self.dieHolding(mounted, with: death.signal)
      // Without this nobody could kill what hangs.
      defer { _ = try? TestSupport.shell("umount -f '\(mounted.path)'") }
      #expect(
        eventually(seconds: 10) { !programs.contains(where: Self.lives) },
        "programs wait for a daemon that is dead")
      let said = try TestSupport.shell("timeout -s KILL 5 ls '\(mounted.path)'")
      #expect(said.output.contains("Transport endpoint is not connected"), "\(said)")
      let daemon = mounted.daemon
      #expect(eventually(seconds: 60) { !Self.lives(daemon) }, "the daemon has not ended")
      #expect(mounted.daemonLog.contains("crashed") == death.isTold, "\(mounted.daemonLog)")
      try mounted.kill()
      try mounted.mount()
      try mounted.verify()
    }

    @Test(
      "where nobody watches the daemon any more, `unmount` lets go who waits for the dead one",
      .timeLimit(.minutes(3)))
    func watcherKilled() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(running: ["prlimit", "--core=0:0"])
      let watcher = try Self.watcher(of: mounted)
      try #require(Foundation.kill(watcher, SIGKILL) == 0)
      #expect(eventually(seconds: 10) { !Self.lives(watcher) })
      let programs = try Self.dieHolding(mounted)
      defer { _ = try? TestSupport.shell("umount -f '\(mounted.path)'") }
      #expect(programs.contains(where: Self.lives), "nothing was held")
      let freed = try TestSupport.shell(
        "timeout -s KILL 20 '\(MountedStore.program)' unmount '\(mounted.path)'", seconds: 40)
      #expect(freed.status == 0 && freed.output.contains("had lost its daemon"), "\(freed)")
      #expect(eventually(seconds: 10) { !programs.contains(where: Self.lives) })
      try mounted.kill()
      try mounted.mount()
      try mounted.verify()
    }

    @Test(
      "the process that watches is small, is in no directory, has three descriptors and ends with the daemon",
      .timeLimit(.minutes(2)))
    func watcherIsSmall() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount()
      let watcher = try Self.watcher(of: mounted)
      let state = try TestSupport.shell(
        #"""
        cd /proc/\#(watcher)
        awk '/^Private/ { sum += $2 } END { print sum }' smaps_rollup
        readlink cwd
        readlink fd/* | sed -E 's,:.*,,; s,/[0-9]+/,/N/,' | sort
        tr '\0' ' ' < cmdline
        """#)
      let lines = state.output.split(separator: "\n").map(String.init)
      #expect(try #require(lines.first.flatMap { Int($0) }, "\(state)") < 2_048, "\(state)")
      #expect(lines.dropFirst().first == "/", "\(state)")
      let descriptors = lines.dropFirst(2).prefix { !$0.hasPrefix("llvs-watch") }
      #expect(descriptors.count == 3, "\(state)")
      #expect(descriptors.last == "socket", "\(state)")
      #expect(lines.last?.trimmed == "llvs-watch", "\(state)")
      try mounted.unmount()
      #expect(eventually(seconds: 10) { !Self.lives(watcher) })
    }
  }
}
