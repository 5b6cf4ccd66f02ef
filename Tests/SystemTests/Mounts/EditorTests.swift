import Foundation
import LLVSCore
import TestSupport
import Testing

extension Mounted {
  /// One version for what a person calls one save, and none of what programs leave beside it.
  @Suite(.serialized) struct EditorTests {
    /// A way to save `notes.txt` with the line `WORD` in it.
    struct Editor: CustomTestStringConvertible, Sendable {
      var testDescription: String
      var script: String
    }

    static let editors = [
      Editor(
        testDescription: "vim",
        script: "vim -N -u NONE -i NONE -es -c 'normal oWORD' -c wq notes.txt"),
      Editor(
        testDescription: "vim with its defaults and an undo file",
        script: """
          HOME=$PWD/.. vim -N -i NONE -es -c 'set undofile undodir=. backup' -c 'normal oWORD' -c w \
            -c wq notes.txt
          """),
      Editor(
        testDescription: "vim that renames",
        script:
          "vim -N -u NONE -i NONE -es -c 'set backupcopy=no' -c 'normal oWORD' -c wq notes.txt"),
      Editor(testDescription: "ed", script: #"printf '$a\nWORD\n.\nw\nq\n' | ed -s notes.txt"#),
      Editor(testDescription: "sed -i", script: "sed -i '$aWORD' notes.txt"),
      Editor(
        testDescription: "perl -i with a backup",
        script: "perl -i~ -pe 's/$/ WORD/' notes.txt"),
      Editor(
        testDescription: "nano",
        script: #"""
          python3 - <<'END'
          import pty, os, time, select
          pid, fd = pty.fork()
          if pid == 0:
              os.environ['TERM'] = 'xterm'
              os.execvp('nano', ['nano', '-I', 'notes.txt'])
          def drain(seconds):
              end = time.time() + seconds
              while time.time() < end:
                  if select.select([fd], [], [], 0.05)[0]:
                      try: os.read(fd, 65536)
                      except OSError: return
          drain(0.5)
          for keys in (b'WORD\r', b'\x0f', b'\r', b'\x18'):
              os.write(fd, keys); drain(0.2)
          os.waitpid(pid, 0)
          END
          """#),
      Editor(
        testDescription: "gedit",
        script: #"""
          python3 - <<'END'
          import os
          text = open('notes.txt').read() + 'WORD\n'
          fd = os.open('.goutputstream-X1Y2Z3', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
          os.write(fd, text.encode()); os.fsync(fd); os.close(fd)
          if os.path.exists('notes.txt~'): os.unlink('notes.txt~')
          try: os.link('notes.txt', 'notes.txt~')
          except OSError: os.rename('notes.txt', 'notes.txt~')
          os.rename('.goutputstream-X1Y2Z3', 'notes.txt')
          END
          """#),
      Editor(
        testDescription: "an office program with a lock file",
        script: #"""
          printf ',me,host,20.11.2026;' > '.~lock.notes.txt#'
          python3 - <<'END'
          import os
          text = open('notes.txt').read() + 'WORD\n'
          fd = os.open('lu1234abcd.tmp', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
          for part in text: os.write(fd, part.encode())
          os.fchmod(fd, 0o644); os.fsync(fd); os.close(fd); os.rename('lu1234abcd.tmp', 'notes.txt')
          END
          sleep 1; rm '.~lock.notes.txt#'
          """#),
      Editor(
        testDescription: "emacs",
        script: #"""
          ln -s me@host.123:456 '.#notes.txt'; (cat notes.txt; echo WORD) > '#notes.txt#'; sleep 0.7
          cp -p notes.txt notes.txt~
          python3 - <<'END'
          import os
          text = open('notes.txt').read() + 'WORD\n'
          fd = os.open('notes.txt', os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.write(fd, text.encode()); os.fsync(fd); os.close(fd)
          END
          rm '.#notes.txt' '#notes.txt#'
          """#),
      Editor(
        testDescription: "a program that truncates and writes in pieces",
        script: #"""
          python3 - <<'END'
          import os, time
          text = open('notes.txt').read() + 'WORD\n'
          fd = os.open('notes.txt', os.O_WRONLY | os.O_TRUNC)
          for part in text:
              os.write(fd, part.encode()); time.sleep(0.5 / len(text))
          os.close(fd)
          END
          """#),
    ]

    @Test(
      "A save is one version, without the editor's own files", .timeLimit(.minutes(1)),
      arguments: editors)
    func oneSaveOneVersion(editor: Editor) throws {
      try MountedStore.with(stored: ["settle": "400ms"]) { mounted in
        try mounted.run("printf 'first\\nsecond\\n' > notes.txt; mkdir d; echo x > d/x")
        try mounted.waitForVersion(after: 0)
        let before = try mounted.versionCount()
        for (index, word) in ["apple", "banana"].enumerated() {
          // Lint off for what an editor exits with after a script.
          let result = try mounted.shell(
            editor.script.replacingOccurrences(of: "WORD", with: word))
          #expect(result.status == 0, "\(result.output)")
          try mounted.waitForVersion(after: before + index)
          // Twice the time after which another version would come.
          Thread.sleep(forTimeInterval: 0.9)
          #expect(try mounted.versionCount() == before + index + 1)
          let versions = try StoredVersions(mounted)
          let last = try #require(try versions.all().last)
          #expect(try versions.paths(in: last) == ["d", "d/x", "notes.txt"])
          let text = try #require(try versions.text("notes.txt", in: last))
          #expect(text.contains(word) && text.contains("second"))
          #expect(try versions.text("notes.txt", in: last) == mounted.run("cat notes.txt"))
        }
      }
    }

    @Test(
      "Unpacking 5,000 files makes two versions at most, and removing them one",
      .timeLimit(.minutes(2)))
    func unpacking() throws {
      try MountedStore.with(stored: [:]) { mounted in
        try mounted.run(
          """
          mkdir ../src; cd ../src
          for d in $(seq 50); do mkdir $d; for f in $(seq 100); do echo $d $f > $d/$f; done; done
          tar cf ../files.tar .
          cd ../mnt; tar xf ../files.tar
          """, seconds: 60)
        try mounted.waitForVersion(after: 0, seconds: 20)
        // A second and a third version would come within this time.
        Thread.sleep(forTimeInterval: 3)
        let versions = try StoredVersions(mounted)
        let all = try versions.all()
        #expect(all.count <= 2)
        let last = try #require(all.last)
        #expect(try versions.paths(in: last).count == 5050)
        try mounted.run("diff -r . ../src; rm -r *", seconds: 60)
        try mounted.waitForVersion(after: all.count, seconds: 20)
        // A second version would come within this time.
        Thread.sleep(forTimeInterval: 2.5)
        #expect(try mounted.versionCount() == all.count + 1)
        #expect(
          try StoredVersions(mounted).paths(in: StoredVersions(mounted).newest()).isEmpty)
      }
    }

    @Test(
      "What is made and gone between two versions never was, and equal bytes make none",
      .timeLimit(.minutes(1)))
    func netEffect() throws {
      try MountedStore.with(stored: ["settle": "400ms"]) { mounted in
        try mounted.run("echo a > a; echo b > b")
        try mounted.waitForVersion(after: 0)
        let count = try mounted.versionCount()
        try mounted.run(
          "echo t > t; mkdir x; rm t; rmdir x; echo a > a; cp b c; mv c b; mv a z; mv z a")
        // Several times the time after which a version would come.
        Thread.sleep(forTimeInterval: 1.8)
        #expect(try mounted.versionCount() == count)
        try mounted.run("touch -d 2001-01-01 a")
        try mounted.waitForVersion(after: count)
      }
    }
  }
}
