import TestSupport
import Testing

/// Many files that become one version.
@Suite("hold", .timeLimit(.minutes(3)), .enabled(if: MountedStore.isPossible))
struct HoldTests {
  /// Runs Python in a mount that makes versions after 0.1 s; `control()` opens a handle, whose `do`
  /// runs a command, and `versions()` tells how many versions have a file.
  private func inMount(_ python: String) throws -> String {
    var output = ""
    try MountedStore.with(settings: ["settle=100ms"]) { mounted in
      output = try mounted.shell(
        """
        cat > ../script <<'END'
        import os, sys, time, subprocess, threading
        class control:
          def __init__(self): self.f = os.open('.llvs/control', os.O_RDWR)
          def do(self, line): os.write(self.f, (line + '\\n').encode()); return os.pread(self.f, 4096, 0).decode().strip()
          def close(self): os.close(self.f)
        def put(name, text='x'):
          with open(name, 'w') as f: f.write(text)
        def versions(name=None):
          return sum(name is None or os.path.exists('.llvs/versions/%s/%s' % (v, name)) for v in os.listdir('.llvs/versions'))
        def until(test):
          for _ in range(100):
            if test(): return True
            time.sleep(0.05)
          return False
        \(python)
        END
        python3 ../script
        """
      ).output
    }
    return output
  }

  @Test("files that are written while a handle holds are in one version, and none is in one before")
  func oneVersion() throws {
    let output = try inMount(
      """
      put('before'); c = control(); print(c.do('hold 30s')[:8])
      print(versions('before')); n = versions()
      for i in range(5): put('f%d' % i); time.sleep(0.3)
      print(versions() - n, 'held out of versions' in open('.llvs/status').read())
      c.do('commit'); print(versions() - n, versions('f0') == versions('f4'))
      put('after'); print(until(lambda: versions('after') > 0)); c.close()
      """)
    #expect(output == "ok held \n1\n0 True\n1 True\nTrue\n", "\(output)")
  }

  @Test("close, a killed program and the end of the time let versions be made again")
  func ends() throws {
    let output = try inMount(
      """
      c = control(); c.do('hold'); put('a'); time.sleep(0.5); print(versions('a')); c.close()
      print(until(lambda: versions('a') > 0))
      c = control(); c.do('hold 700ms'); put('b'); time.sleep(0.3); print(versions('b'))
      print(until(lambda: versions('b') > 0)); c.close()
      shell = 'exec 3<>.llvs/control; echo hold >&3; echo x > c; echo held; exec sleep 60'
      child = subprocess.Popen(['bash', '-c', shell], stdout=subprocess.PIPE)
      child.stdout.readline(); time.sleep(0.5); print(versions('c')); child.kill(); child.wait()
      print(until(lambda: versions('c') > 0))
      """)
    #expect(output == "0\nTrue\n0\nTrue\n0\nTrue\n", "\(output)")
  }

  @Test("the commands of others that make versions wait, and a second holder too")
  func others() throws {
    let output = try inMount(
      """
      a, b, d = control(), control(), control(); a.do('hold'); put('x'); done = []
      def run(c, line): c.do(line); done.append(line)
      threads = [threading.Thread(target=run, args=x) for x in ((b, 'sync'), (d, 'hold 30s'))]
      for t in threads: t.start()
      time.sleep(0.6); print(done, versions('x')); print(control().do('status')[:4])
      put('y'); a.do('commit')
      for t in threads: t.join()
      print(sorted(done), versions('x') == versions('y'))
      put('z'); time.sleep(0.5); print(versions('z')); d.do('commit'); print(versions('z'))
      """)
    #expect(
      output == "[] 0\nhead\n['hold 30s', 'sync'] True\n0\n1\n", "\(output)")
  }

  @Test("a time that is too long or no time is refused")
  func grammar() throws {
    let output = try inMount(
      """
      for line in ('hold 11m', 'hold soon', 'hold 0'):
        c = control()
        try: print(c.do(line))
        except OSError as e: print(e.strerror)
      """)
    #expect(output == "Invalid argument\nInvalid argument\nInvalid argument\n", "\(output)")
  }
}
