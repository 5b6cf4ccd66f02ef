import Foundation
import TestSupport
import Testing

extension Mounted {
  /// Programs that hold a file, or its text, while a sync brings what the other side made of it.
  @Suite(.serialized) struct StaleEditorTests {
    /// Loads `NAME.txt`, says that it has, waits for the sync, and saves with `here` in its first line.
    struct Program {
      var name: String
      /// Python: what is done before the sync and after it, with `path` and `edit`; `wait()` between.
      var body: String
    }

    static let programs = [
      Program(name: "vim", body: "vim(path, [])"),
      Program(name: "vim-renaming", body: "vim(path, ['-c', 'set backupcopy=no'])"),
      Program(name: "vim-in-place", body: "vim(path, ['-c', 'set backupcopy=yes'])"),
      Program(name: "nano", body: "nano(path)"),
      Program(name: "ed", body: "ed(path)"),
      Program(
        name: "rename-over",
        body: """
          text = get(path); wait()
          put(path + '.new', edit(text)); os.rename(path + '.new', path)
          """),
      Program(
        name: "read-write-handle",
        body: """
          file = open(path, 'r+b'); text = file.read(); wait()
          file.seek(0); file.write(edit(text)); file.truncate(); file.close()
          """),
      Program(
        name: "handle-that-saves-twice",
        body: """
          file = open(path, 'r+b'); text = file.read(); wait()
          file.seek(0); file.write(edit(text)); file.flush(); os.fsync(file.fileno())
          subprocess.run(['bash', '-c', 'echo commit > .llvs/control'], check=True)
          file.seek(0); file.write(edit(text)); file.truncate(); file.close()
          """),
      Program(
        name: "cut-unread",
        body: """
          text = get(path); wait()
          fd = os.open(path, os.O_RDWR); os.ftruncate(fd, 0); os.write(fd, edit(text)); os.close(fd)
          """),
      // The look-up comes before the sync, the open after it.
      Program(
        name: "looked-up-before",
        body: """
          file = os.open(path, os.O_PATH); wait()
          text = get('/proc/self/fd/%d' % file)
          put(path + '.new', edit(text)); os.rename(path + '.new', path)
          """),
      Program(
        name: "looked-up-and-emptied",
        body: """
          file = os.open(path, os.O_PATH); wait()
          text = get('/proc/self/fd/%d' % file); put('/proc/self/fd/%d' % file, edit(text))
          """),
      Program(
        name: "worker-thread",
        body: """
          import concurrent.futures
          pool = concurrent.futures.ThreadPoolExecutor(1)
          text = pool.submit(get, path).result(); wait(); put(path, edit(text))
          """),
    ]

    private static let prelude = #"""
      import pty, select
      name, state = sys.argv[1], sys.argv[2]
      path = name + '.txt'

      def edit(text):
          return text.replace(b'line 1\n', b'line 1 here\n')

      def wait():
          open('%s/%s.ready' % (state, name), 'w').close()
          while not os.path.exists(state + '/go'): time.sleep(0.05)

      def drain(fd, seconds):
          said, end = b'', time.time() + seconds
          while time.time() < end:
              if select.select([fd], [], [], 0.05)[0]:
                  try: said += os.read(fd, 65536)
                  except OSError: break
          return said

      def terminal(*words):
          pid, fd = pty.fork()
          if pid == 0:
              os.environ['TERM'] = 'xterm'
              os.execvp(words[0], words)
          drain(fd, 1)
          return pid, fd

      def vim(path, options):
          pid, fd = terminal('vim', '-N', '-u', 'NONE', '-i', 'NONE', '-n', *options, path)
          wait()
          os.write(fd, b':1s/$/ here/\r'); drain(fd, 0.3); os.write(fd, b':w!\r')
          # It asks whether to write over a file that was changed meanwhile.
          if b'(y/n)' in drain(fd, 1): os.write(fd, b'y\r'); drain(fd, 0.5)
          os.write(fd, b':q!\r'); drain(fd, 0.5)
          os.waitpid(pid, 0)

      def nano(path):
          pid, fd = terminal('nano', '-I', path)
          wait()
          # The end of the line, then save under the same name although it was changed meanwhile.
          os.write(fd, b'\x05 here'); drain(fd, 0.3); os.write(fd, b'\x0f'); drain(fd, 0.3)
          os.write(fd, b'\r'); said = drain(fd, 0.7)
          if b'modified' in said or b'changed' in said: os.write(fd, b'y'); drain(fd, 0.7)
          os.write(fd, b'\x18'); drain(fd, 0.5)
          os.waitpid(pid, 0)

      def ed(path):
          # It says how many bytes it has read.
          child = subprocess.Popen(['ed', path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
          child.stdout.readline(); wait()
          child.communicate(b'1s/$/ here/\nw\nq\n'); assert child.returncode == 0


      """#

    @Test(
      "Editors and scripts left open over a sync save beside the other side's edit",
      .timeLimit(.minutes(3)))
    func leftOpen() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          let state = a.directory + "/state"
          let names = Self.programs.map(\.name).joined(separator: " ")
          try a.run(
            """
            mkdir ../folder '\(state)'; echo $PWD/../folder > .llvs/peers/folder
            for f in \(names); do for i in $(seq 9); do echo "line $i" >> $f.txt; done; done
            echo sync > .llvs/control
            """)
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder; echo sync > .llvs/control")
          for program in Self.programs {
            try a.launchPython(
              Self.prelude + program.body + "\nopen('%s/%s.done' % (state, name), 'w').close()\n",
              arguments: "\(program.name) '\(state)'")
          }
          let count = Self.programs.count
          let areLoaded = try a.shell("ls '\(state)'/*.ready | wc -l", seconds: 20)
          if areLoaded.output != "\(count)\n" {
            #expect(
              eventually(seconds: 20) {
                (try? a.shell("ls '\(state)'/*.ready | wc -l").output) == "\(count)\n"
              }, "not all programs have loaded")
          }
          try b.run("sed -i 's/line 9/line 9 there/' *.txt; echo sync > .llvs/control")
          try a.run(
            "echo sync > .llvs/control; grep -L there *.txt | wc -l | grep -qx 0; touch '\(state)/go'"
          )
          #expect(
            eventually(seconds: 40) {
              (try? a.shell("ls '\(state)'/*.done | wc -l").output) == "\(count)\n"
            }, "not all programs have saved")
          try a.run("echo sync > .llvs/control")
          for program in Self.programs {
            let text = try a.run("cat \(program.name).txt")
            #expect(text.hasPrefix("line 1 here\nline 2\n"), "\(program.name): \(text)")
            #expect(text.hasSuffix("line 8\nline 9 there\n"), "\(program.name): \(text)")
          }
          #expect(try a.run("ls .llvs/conflicts") == "")
          try b.run("echo sync > .llvs/control; diff -r . '\(a.path)'")
        }
      }
    }

    @Test(
      "An editor that changed the same line leaves a conflict, and neither side is lost",
      .timeLimit(.minutes(1)))
    func sameLine() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run(
            """
            mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder
            echo base > f; echo sync > .llvs/control
            """)
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder; echo sync > .llvs/control")
          // The shell that reads is the one that writes.
          try a.run(
            """
            read text < f
            (cd '\(b.path)'; echo there > f; echo sync > .llvs/control)
            echo sync > .llvs/control
            test "$(cat f)" = there
            echo "$text here" > f
            test "$(cat f)" = 'base here'
            echo sync > .llvs/control
            test "$(ls .llvs/conflicts)" = f
            cat f .llvs/conflicts/f/theirs | sort | tr '\\n' , | grep -qx 'base here,there,'
            grep -q '^conflicts *1' .llvs/control
            """)
          try b.run(
            """
            echo sync > .llvs/control; diff f '\(a.path)/f'
            diff -r .llvs/conflicts '\(a.path)/.llvs/conflicts'
            """)
        }
      }
    }

    @Test("Saves while heads come lose no line of the other side", .timeLimit(.minutes(2)))
    func whileHeadsCome() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run(
            """
            mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder
            seq 10 > f; echo sync > .llvs/control
            """)
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder; echo sync > .llvs/control")
          // Each save of a process of its own: it looks the file up, opens, reads and renames beside the head that comes.
          try b.run(
            """
            (i=0; while [ ! -e ../stop ]; do sed -i "1i b$((++i))" f; sleep 0.05; done; touch ../ended) &
            for k in $(seq 20); do
              (cd '\(a.path)'; echo a$k >> f; echo sync > .llvs/control); echo sync > .llvs/control
            done
            touch ../stop; while [ ! -e ../ended ]; do sleep 0.05; done; echo sync > .llvs/control
            """, seconds: 90)
          let lines = try b.run("cat f").split(separator: "\n")
          for k in 1...20 { #expect(lines.contains("a\(k)"), "a\(k) is lost") }
        }
      }
    }

    @Test(
      "tail -F follows what the other side appends, and a mapping keeps its bytes",
      .timeLimit(.minutes(1)))
    func readers() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run(
            """
            mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder
            echo first > log; printf 'old bytes' > mapped; echo sync > .llvs/control
            (exec timeout 40 tail -n +1 -s 0.1 -F log > ../tail.out 2>/dev/null) &
            """)
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder; echo sync > .llvs/control")
          try a.launchPython(
            """
            with open('mapped', 'rb') as file:
                view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            put('../map.ready', '')
            while not os.path.exists('../map.go'): time.sleep(0.05)
            same(get('mapped'), b'new bytes, and more')
            same(view[:], b'old bytes')
            put('../map.good', '')
            """)
          #expect(
            eventually {
              (try? a.shell("test -e ../map.ready && grep -q first ../tail.out").status) == 0
            })
          try b.run(
            "echo second >> log; printf 'new bytes, and more' > mapped; echo sync > .llvs/control")
          try a.run("echo sync > .llvs/control; touch ../map.go")
          #expect(eventually { (try? a.shell("grep -q second ../tail.out").status) == 0 })
          #expect(eventually { (try? a.shell("test -e ../map.good").status) == 0 })
        }
      }
    }
  }
}
