import Foundation
import TestSupport
import Testing

extension Mounted {
  /// What undo, redo and restore do across merges while the other store goes on, with real edits.
  @Suite(.serialized) struct UndoTests {
    /// Two mounts with the same start, each edited since; a has taken in what b did, and a conflict with it.
    private func merged(
      _ body: (_ a: MountedStore, _ b: MountedStore, _ own: String, _ merge: String) throws -> Void
    ) throws {
      try MountedStore.with(stored: ["settle": "1h"]) { a in
        try MountedStore.with(stored: ["settle": "1h"]) { b in
          try a.run("mkdir ../folder; echo $PWD/../folder > .llvs/peers/folder")
          try b.run("echo '\(a.directory)/folder' > .llvs/peers/folder")
          try a.run(
            """
            seq 9 > text; echo base > both; echo base > gone; mkdir -p d/e; echo start > d/x; ln -s text link
            chmod 640 d/x; echo sync > .llvs/control
            """)
          try b.run(
            """
            echo sync > .llvs/control; echo 'commit of b' > .llvs/control
            vim -N -u NONE -i NONE -es -c '8s/$/ of b/' -c wq text
            mv d/x d/y; rm gone; echo 'new of b' > new; ln -sfn new link
            """)
          try a.run(
            """
            sed -i '2s/$/ of a/' text; echo 'of a' > both; echo 'of a' >> d/x; echo 'mine of a' > mine
            echo commit > .llvs/control
            """)
          // The later one, so that the merge takes it.
          try b.run("echo 'of b' > both; echo sync > .llvs/control")
          let own = try a.head()
          try a.run("echo sync > .llvs/control")
          let merge = try a.head()
          #expect(try a.conflicts() == ["both"])
          try a.run(
            """
            grep -q '^2 of a' text; grep -q '^8 of b' text; grep -q 'of b' both; test ! -e gone; test ! -e d/x
            printf 'start\\nof a\\n' | cmp - d/y; test "$(stat -c %a d/y)" = 640; test "$(readlink link)" = new
            """)
          try body(a, b, own, merge)
          try a.verify()
          try b.verify()
        }
      }
    }

    private func sync(_ a: MountedStore, _ b: MountedStore) throws {
      for store in [a, b, a] { try store.run("echo sync > .llvs/control") }
      #expect(try a.head() == b.head())
      #expect(try a.conflicts() == b.conflicts())
      #expect(try a.run("diff -r --no-dereference . '\(b.path)'") == "")
    }

    @Test(
      "a merge undone, redone, and partly restored: both stores follow, and all there was is in history",
      .timeLimit(.minutes(2)))
    func undoMerge() throws {
      try merged { a, b, own, merge in
        try a.run("echo undo > .llvs/control; diff -r --no-dereference .llvs/versions/\(own) .")
        #expect(try a.conflicts() == [])
        try a.run("echo redo > .llvs/control; diff -r --no-dereference .llvs/versions/\(merge) .")
        #expect(try Set(a.conflicts()).isSubset(of: ["both"]))
        try a.run(
          """
          echo 'restore \(own) text both' > .llvs/control
          cmp text .llvs/versions/\(own)/text; cmp both .llvs/versions/\(own)/both; cmp d/y .llvs/versions/\(merge)/d/y
          """)
        // Meanwhile b goes on from what it had sent.
        try b.run("echo 'later of b' > later; sed -i '5s/$/ later of b/' text")
        try sync(a, b)
        for store in [a, b] {
          #expect(try store.conflicts() == [])
          try store.run(
            """
            grep -q '^2 of a' text; grep -q '^5 later of b' text; ! grep -q '^8 of b' text
            grep -q 'of a' both; grep -q 'later of b' later; grep -q 'new of b' new; test ! -e gone
            cat .llvs/history/both/* | sort -u | tr '\\n' , | grep -qx 'base,of a,of b,'
            grep -q '^8 of b' .llvs/history/text/*; grep -q base .llvs/history/gone/*
            """)
        }
      }
    }

    @Test(
      "a merge undone on one side and edited on the other is a change against an edit: listed, once",
      .timeLimit(.minutes(2)))
    func undoAgainstEdit() throws {
      try merged { a, b, own, _ in
        try b.run("echo sync > .llvs/control; echo 'again of b' > both; echo 'more' >> new")
        try a.run("echo undo > .llvs/control; diff -r --no-dereference .llvs/versions/\(own) .")
        try b.run("echo commit > .llvs/control")
        try sync(a, b)
        for store in [a, b] {
          // Undo removed what b had made, and b changed it: the edit stays.
          #expect(try store.run("cat new") == "new of b\nmore\n")
          #expect(try store.conflicts() == ["both", "new"])
          try store.run(
            """
            cat both .llvs/conflicts/both/theirs | sort | tr '\\n' , | grep -qx 'again of b,of a,'
            test "$(ls .llvs/conflicts/both | tr '\\n' ' ')" = 'base merged ours theirs '
            grep -q base gone; grep -q 'mine of a' mine
            """)
        }
        // What is settled on one side stays so through undo and redo of other things.
        try b.run("echo 'settle both' > .llvs/control; echo 'settle new' > .llvs/control")
        try sync(a, b)
        #expect(try a.conflicts() == [])
        try a.run("echo x > x; echo commit > .llvs/control; echo undo > .llvs/control")
        try sync(a, b)
        try b.run("echo undo > .llvs/control; echo redo > .llvs/control")
        try sync(a, b)
        #expect(try a.conflicts() == [])
      }
    }

    @Test(
      "a fast forward undone, and the whole tree restored from across a merge: nothing comes back")
    func restoreAll() throws {
      try merged { a, b, own, merge in
        try b.run("echo sync > .llvs/control")
        #expect(try b.head() == merge)
        // b only followed; what it showed before were its own edits.
        try b.run("echo undo > .llvs/control; test -e new; test ! -e mine; grep -q 'of b' both")
        try sync(a, b)
        #expect(try a.run("cat both; ls") == "of b\nboth\nd\nlink\nnew\ntext\n")
        try a.run(
          "echo 'restore \(own)' > .llvs/control; diff -r --no-dereference .llvs/versions/\(own) .")
        try sync(a, b)
        try b.run("diff -r --no-dereference .llvs/versions/\(own) .")
        #expect(try a.conflicts() == [])
        let count = try a.versionCount()
        try sync(a, b)
        #expect(try a.versionCount() == count)
      }
    }
  }
}

extension MountedStore {
  /// The name of the version that the tree continues from.
  fileprivate func head() throws -> String {
    try run("readlink .llvs/head | cut -d/ -f2").trimmingCharacters(in: .newlines)
  }

  /// The paths of open conflicts.
  fileprivate func conflicts() throws -> [String] {
    let listed = try run(
      """
      cd .llvs/conflicts
      find . -type f | while IFS= read -r file; do dirname "$file"; done | cut -c3- | LC_ALL=C sort -u
      """
    ).split(separator: "\n").map(String.init)
    let count = try run(#"sed -n 's/^conflicts *\([0-9]*\).*/\1/p' .llvs/control | tr -d '\n'"#)
    #expect(count == "\(listed.count)", "\(listed)")
    return listed
  }
}
