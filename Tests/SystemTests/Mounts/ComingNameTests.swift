import TestSupport
import Testing

extension Mounted {
  /// Ignored files and directories whose names another store gives to files, as programs see them.
  @Suite(.serialized) struct ComingNameTests {
    @Test(
      "What comes at the name of an ignored file or directory is next to it, and has the name after a removal",
      .timeLimit(.minutes(2)))
    func comes() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run("mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder")
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder")
          try a.run("mkdir d; echo d > d/f; echo sync > .llvs/control")
          try b.run(
            """
            echo sync > .llvs/control; printf '*.env\\nbuild/\\n' > .llvs/ignore
            echo secret > x.env; echo old > y.env; mkdir build; echo obj > build/o
            test ! -e %llvs%x.env; test ! -e %llvs%build
            """)
          try a.run(
            "for i in x.env y.env build; do echo theirs > $i; done; echo sync > .llvs/control")
          let shown = try b.run("echo sync > .llvs/control; ls; cat x.env y.env build/* %llvs%*")
          #expect(
            shown == """
              %llvs%build
              %llvs%x.env
              %llvs%y.env
              build
              d
              x.env
              y.env
              secret
              old
              obj
              theirs
              theirs
              theirs

              """)
          // A directory of versions that moves into one of scratch is copied.
          try b.run(
            """
            mv d build; cat build/d/f; test ! -e d
            vim -N -u NONE -i NONE -es -c 's/$/ 2/' -c wq x.env; grep -q 'secret 2' x.env
            echo sync > .llvs/control; grep -q 'secret 2' x.env
            """)
          try a.run(
            "echo sync > .llvs/control; test ! -e d; grep theirs x.env y.env build; echo 2 >> x.env"
          )
          try a.run("echo sync > .llvs/control")
          let left = try b.run(
            """
            echo sync > .llvs/control; cat %llvs%x.env; rm x.env; mv y.env mine.env; rm -r build
            echo commit > .llvs/control; ls; cat x.env y.env build; test ! -e %llvs%x.env; test ! -e %llvs%build
            """)
          #expect(
            left == """
              theirs
              2
              build
              mine.env
              x.env
              y.env
              theirs
              2
              theirs
              theirs

              """)
          try b.run("echo sync > .llvs/control")
          try a.run(
            """
            echo sync > .llvs/control; grep theirs x.env y.env build
            ! grep -r -e secret -e old -e obj .llvs/versions
            """)
          try a.verify()
          try b.verify()
        }
      }
    }
  }
}
