import TestSupport
import Testing

extension Mounted {
  @Suite(.timeLimit(.minutes(2)))
  struct ConflictFiles {
    @Test("rm -r of a conflict's directory settles it, cp of one of its files settles as that")
    func removal() throws {
      try MountedStore.with { store in
        try store.run(
          """
          mkdir d
          for f in a d/b d/c; do echo base > $f; done
          echo commit > .llvs/control
          echo 'branch other' > .llvs/control
          for f in a d/b d/c; do echo other > $f; done
          echo commit > .llvs/control
          echo 'switch -' > .llvs/control
          for f in a d/b d/c; do echo this > $f; done
          echo commit > .llvs/control
          echo 'merge other using most-recent-branch' > .llvs/control
          test "$(ls .llvs/conflicts)" = "$(printf 'a\\nd')"
          grep -q '^conflicts *3' .llvs/control
          diff .llvs/conflicts/a/ours a
          test "$(cat d/.llvs/conflicts/b/theirs)" = other
          ! (echo x > .llvs/conflicts/a/theirs) 2>/dev/null
          ! rmdir .llvs/conflicts/d 2>/dev/null
          rm -r .llvs/conflicts/d
          test "$(ls .llvs/conflicts)" = a
          grep -q '^conflicts *1' .llvs/control
          cp .llvs/conflicts/a/theirs a
          echo commit > .llvs/control
          test -z "$(ls .llvs/conflicts)"
          test "$(cat a d/b d/c | tr '\\n' ' ')" = "other this this "
          """)
      }
    }

    @Test("rm -r .llvs changes nothing: peers stay, and no conflict is settled")
    func tidied() throws {
      try MountedStore.with { store in
        try clashed("a b", store)
        try store.run(
          """
          echo /media/usb > .llvs/peers/usb
          ! rm -rf .llvs 2> ../said
          grep -q 'README' ../said
          ! rm -rf .llvs/* 2> /dev/null
          test "$(cat .llvs/peers/usb)" = /media/usb
          test "$(ls .llvs/conflicts | tr '\\n' ' ')" = 'a b '
          rm .llvs/peers/usb
          rm -r .llvs/conflicts/a
          test "$(ls .llvs/conflicts)" = b
          test -z "$(ls .llvs/peers)"
          grep -q ' peer usb: forgotten' .llvs/log
          """)
      }
    }

    /// The bytes that stand were stored by a version before the attribute was set.
    @Test("Looking at a conflict changes nothing of what versions show")
    func lookedAt() throws {
      try MountedStore.with { store in
        try store.run(
          """
          echo base > f; echo commit > .llvs/control; echo 'branch other' > .llvs/control
          echo other > f; echo commit > .llvs/control; echo 'switch -' > .llvs/control
          echo this > f; echo commit > .llvs/control
          setfattr -n user.colour -v red f; chmod 600 f; echo commit > .llvs/control
          echo 'merge other using most-recent-branch' > .llvs/control
          stat -c %a .llvs/conflicts/f/*; cat .llvs/conflicts/f/ours
          for f in f .llvs/head/f .llvs/conflicts/f/ours; do
            test "$(stat -c %a $f)" = 600; getfattr -d $f | grep colour
          done
          """)
      }
    }

    /// A tree in which `a`, `b` and so on clash, in one line of three.
    private func clashed(_ names: String, _ store: MountedStore) throws {
      try store.run(
        """
        for f in \(names); do printf 'one\\ntwo\\nthree\\n' > $f; done; echo commit > .llvs/control
        echo 'branch other' > .llvs/control
        sed -i s/two/other/ \(names); echo commit > .llvs/control; echo 'switch -' > .llvs/control
        sed -i s/two/this/ \(names); echo commit > .llvs/control
        echo 'merge other' > .llvs/control
        test "$(ls .llvs/conflicts | tr '\\n' ' ')" = '\(names) '
        """)
    }

    @Test(
      "merged is settled by real editors: in place, by rename, and is a draft while markers remain")
    func merged() throws {
      try MountedStore.with { store in
        let names = "echo gedit nano sed tee vim vimrename"
        try clashed(names, store)
        try store.run(
          #"""
          marked="$(printf 'one\n<<<<<<< ours\nthis\n=======\nother\n>>>>>>> theirs\nthree')"
          for f in */; do false; done 2>/dev/null || true
          for f in $(ls .llvs/conflicts); do test "$(cat .llvs/conflicts/$f/merged)" = "$marked"; done
          good() { test "$(cat $1 | tr '\n' ,)" = 'one,both,three,'; test ! -e .llvs/conflicts/$1; }

          cd .llvs/conflicts/echo; echo "$marked" > merged; test -e ../echo/merged
          printf 'one\nboth\nthree\n' > merged; cd ../../..; good echo
          sed -e '/^[<=>]\{7\}/d' -e /other/d -e s/this/both/ .llvs/conflicts/tee/ours |
            tee .llvs/conflicts/tee/merged > /dev/null; good tee
          sed -i -e '/^[<=>]\{7\}/d' -e /other/d -e s/this/both/ .llvs/conflicts/sed/merged; good sed
          vim -N -u NONE -i NONE -es -c 'g/^[<=>]\{7}/d' -c g/other/d -c s/this/both/e -c %s/this/both/e \
            -c wq .llvs/conflicts/vim/merged; good vim
          # Saved while markers remain, it is kept, and the conflict stays open.
          vim -N -u NONE -i NONE -es -c 'set backupcopy=no' -c '1s/one/eins/' -c wq \
            .llvs/conflicts/vimrename/merged
          grep -q this vimrename; grep -q eins .llvs/conflicts/vimrename/merged
          rm .llvs/conflicts/vimrename/merged; grep -q one .llvs/conflicts/vimrename/merged
          vim -N -u NONE -i NONE -es -c 'set backupcopy=no' -c 'g/^[<=>]\{7}/d' -c g/other/d \
            -c %s/this/both/e -c wq .llvs/conflicts/vimrename/merged; good vimrename
          python3 - <<'END'
          import os
          os.chdir('.llvs/conflicts/gedit')
          fd = os.open('.goutputstream-X', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
          os.write(fd, b'one\nboth\nthree\n'); os.fsync(fd); os.close(fd)
          os.rename('.goutputstream-X', 'merged')
          END
          good gedit
          python3 - <<'END'
          import pty, os, time, select
          pid, fd = pty.fork()
          if pid == 0:
              os.environ['TERM'] = 'xterm'
              os.execvp('nano', ['nano', '-I', '.llvs/conflicts/nano/merged'])
          said = b''
          def expect(text):
              # Typed before it is ready, keys are lost.
              global said
              end = time.time() + 40
              while text not in said:
                  assert time.time() < end, said
                  if select.select([fd], [], [], 0.05)[0]: said += os.read(fd, 65536)
              said = said.split(text, 1)[1]
          expect(b'Exit')
          # Cut all, type the outcome, save, leave.
          os.write(fd, b'\x0b' * 7 + b'one\rboth\rthree\x0f'); expect(b'Name to Write')
          os.write(fd, b'\r'); expect(b'Wrote')
          os.write(fd, b'\x18')
          os.waitpid(pid, 0)
          END
          good nano
          test -z "$(ls .llvs/conflicts)"
          grep -q '^conflicts *0' .llvs/control
          """#)
      }
    }

    @Test("However one side settles, the other side shows it settled")
    func everywhere() throws {
      let ways = [
        "write": "echo both > write", "copy": "cp .llvs/conflicts/copy/theirs copy",
        "rm": "rm -r .llvs/conflicts/rm",
        "merged": "echo both > .llvs/conflicts/%llvs%merged/merged",
        "ours": "echo 'settle ours ours' > .llvs/control",
        "theirs": "echo 'settle theirs theirs' > .llvs/control",
        "base": "echo 'settle base base' > .llvs/control",
        "version": "echo \"settle version $(basename $(readlink .llvs/head))\" > .llvs/control",
        "tool": "'\(MountedStore.program)' settle tool theirs > /dev/null",
        "meld": "printf 'this, other' | dd of=meld conv=notrunc status=none; truncate -s 11 meld",
        "mv": "cp .llvs/conflicts/mv/theirs new; mv new mv",
      ]
      let names = ways.keys.sorted()
      let list = names.joined(separator: " ")
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run(
            """
            mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder
            for f in \(list); do echo zero > $f; done; echo sync > .llvs/control
            """)
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder; echo sync > .llvs/control")
          for side in [(a, b), (b, a)] {
            try a.run("for f in \(list); do echo base > $f; done; echo sync > .llvs/control")
            try b.run("echo sync > .llvs/control; for f in \(list); do echo other > $f; done")
            try a.run(
              "for f in \(list); do echo this > $f; done; echo sync > .llvs/control")
            try b.run("echo sync > .llvs/control")
            try a.run(
              "echo sync > .llvs/control; ls .llvs/conflicts | wc -l | grep -qx \(names.count)")
            try a.run("diff -r .llvs/conflicts '\(b.path)/.llvs/conflicts'")
            // Each way at one side, one after the other.
            for name in names { try side.0.run(ways[name] ?? "false") }
            try side.0.run(
              "echo sync > .llvs/control; ls .llvs/conflicts; test -z \"$(ls .llvs/conflicts)\"")
            try side.1.run(
              """
              echo sync > .llvs/control; ls .llvs/conflicts; test -z "$(ls .llvs/conflicts)"
              grep -q '^conflicts *0' .llvs/control; diff -r . '\(side.0.path)'
              """)
            #expect(try side.1.run("cat write merged") == "both\nboth\n")
            #expect(try side.1.run("cat base") == "base\n")
            try side.1.run("echo sync > .llvs/control")
            try side.0.run("echo sync > .llvs/control")
          }
        }
      }
    }
  }
}
