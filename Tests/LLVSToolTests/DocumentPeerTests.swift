import Platform
import TestSupport
import Testing

/// A document as a peer of a mounted store, as an application and a person meet it.
@Suite(
  "A document as a peer", .timeLimit(.minutes(4)), .enabled(if: MountedStore.isPossible))
struct DocumentPeerTests {
  /// Runs a script in a mount whose peer `app` is the document `$d`, with the directory `notes`;
  /// `app` writes the document and `try` tells how a command of the control file ends.
  private func inMount(_ script: String, seconds: Int = 60) throws -> String {
    var output = ""
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      output = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        w='\(mounted.directory)'; mkdir "$w/doc"; d="$w/doc/notes.kvcrdt"
        app() { printf "$2" | llvs document "$d" put "$1"; }
        try() { { echo "$*" > .llvs/control; } 2>&1 | sed 's/.*: //'; }
        sql() { python3 -c "import sqlite3, sys
        c = sqlite3.connect(sys.argv[1], isolation_level=None)
        for s in sys.argv[2:]: c.execute(s)" "$d" "$@"; }
        dots() { python3 -c "import sqlite3, sys
        for a, n in sqlite3.connect(sys.argv[1]).execute('SELECT hex(authorId), usn FROM entry '
          'WHERE scope = ? AND key = ?', sys.argv[2:]): print(a, n)" "$d" "$@"; }
        llvs peer app "kvcrdt:$d#notes" -q
        \(script)
        """, seconds: seconds
      ).output
    }
    return output
  }

  @Test("an application and an editor change one text, and both changes are kept")
  func bothEdits() throws {
    let output = try inMount(
      """
      app note 'one\\ntwo\\nthree\\n'; llvs sync -q
      vim -N -u NONE -es -c 's/one/ONE/' -c 'wq' notes/note 2> /dev/null \
        || sed -i 's/one/ONE/' notes/note
      app note 'one\\ntwo\\nTHREE\\n'
      llvs sync -q; llvs document "$d" get note; cat notes/note; llvs conflicts
      """)
    #expect(output == "ONE\ntwo\nTHREE\nONE\ntwo\nTHREE\nno conflicts\n", "\(output)")
  }

  @Test("undo opens a conflict again that settling has closed")
  func undo() throws {
    let output = try inMount(
      """
      app note 'base\\n'; llvs sync -q
      echo mine > notes/note; app note 'app\\n'; llvs sync -q
      list() { llvs conflicts --json | grep -o '"path":"[^"]*"' | sort -u; cat notes/note; }
      list > before; cat before; llvs conflicts | grep -c 'from .*kvcrdt, '
      llvs settle notes/note theirs -q; list; llvs undo | grep -o 'conflicts are open again'
      list > after; cmp before after
      ls .llvs/conflicts/notes/note
      """)
    #expect(
      output == """
        "path":"notes/note"
        app
        1
        mine
        conflicts are open again
        merged
        ours
        theirs

        """, "\(output)")
  }

  @Test("redo after undo of a settling closes the conflict again, in the document too")
  func redo() throws {
    let output = try inMount(
      """
      app note 'base\\n'; llvs sync -q
      echo mine > notes/note; app note 'app\\n'; llvs sync -q
      llvs settle notes/note theirs -q; llvs undo -q; llvs sync -q
      llvs document "$d" conflicts | wc -l; llvs redo -q; llvs conflicts; cat notes/note
      llvs sync -q; llvs document "$d" conflicts | wc -l; llvs document "$d" get note
      """)
    #expect(output == "1\nno conflicts\nmine\n0\nmine\n", "\(output)")
  }

  @Test("undo of what came from a document reaches the document")
  func undoImport() throws {
    let output = try inMount(
      """
      app note 'one'; llvs sync -q; app note 'two'; app other 'three'; llvs sync -q
      llvs undo -q; cat notes/note; echo; ls notes; llvs sync -q; llvs document "$d" list
      llvs document "$d" get note; llvs document "$d" conflicts; llvs sync -q; cat notes/note
      """)
    #expect(output == "one\nnote\nnote\none\none", "\(output)")
  }

  @Test("a document that is gone is refused, and an empty file in its place is written anew")
  func gone() throws {
    let output = try inMount(
      """
      mkdir notes; echo one > notes/a; try sync; llvs document "$d" get a
      rm "$d"; try retrieve; try send; : > "$d"; try sync; llvs document "$d" get a
      mv "$w/doc" "$w/away"; try retrieve; try send; mv "$w/away" "$w/doc"; try sync
      """)
    #expect(
      output == """
        one
        No route to host
        No route to host
        one
        No route to host
        No route to host

        """, "\(output)")
  }

  @Test("what is no sound document is refused, and stays as it is")
  func damaged() throws {
    let output = try inMount(
      """
      mkdir notes; app a 'one'; try sync; cp "$d" "$w/good"
      check() { cp "$d" "$w/bad"; try retrieve; try send; cmp "$d" "$w/bad"; cp "$w/good" "$d"; }
      echo 'no database' > "$d"; check
      head -c 5000 "$w/good" > "$d"; check
      sql 'CREATE TABLE more (a)'; check
      sql 'INSERT INTO grdb_migrations VALUES ("tomorrow")'; check
      sql 'UPDATE author SET usn = 0'; check
      sql 'UPDATE entry SET key = CAST(x'"'ff'"' AS TEXT)'; check
      sql 'UPDATE entry SET key = printf("%070000d", 1)'; check
      sql 'DELETE FROM entry'; check
      """)
    #expect(output == String(repeating: "Bad message\nBad message\n", count: 8), "\(output)")
  }

  @Test("a document of other data or of another application is refused")
  func strange() throws {
    let output = try inMount(
      """
      mkdir notes; echo one > notes/a; try commit; app b 'two'; try retrieve; try send
      llvs sync app 2>&1 | grep -o 'no author in common'
      """)
    #expect(
      output == """
        Invalid cross-device link
        Invalid cross-device link
        no author in common

        """, "\(output)")
  }

  @Test("a document of another application is refused, and stays as it is")
  func application() throws {
    let output = try inMount(
      """
      app a 'one'; app b 'two'
      sql "INSERT INTO applicationIdentifier VALUES ('org.example.notes', 1, 0, 'Notes')"; try sync
      sql "UPDATE applicationIdentifier SET id = 'org.example.other'"; app a 'three'
      cp "$d" "$w/before"; try retrieve; try send; cmp "$d" "$w/before"
      llvs sync app 2>&1 | grep -o 'belongs to org.example.other 1'; cat notes/a; echo
      sql "UPDATE applicationIdentifier SET id = 'org.example.notes', majorVersion = 2"; try retrieve
      sql "UPDATE applicationIdentifier SET majorVersion = 1, minorVersion = 7"; try sync; cat notes/a
      """)
    #expect(
      output == """
        Invalid cross-device link
        Invalid cross-device link
        belongs to org.example.other 1
        one
        Invalid cross-device link
        three
        """, "\(output)")
  }

  @Test("more authors than the original can merge are sent, and the reply warns of them")
  func manyAuthors() throws {
    let output = try inMount(
      """
      app a 'one'; try sync
      python3 -c "import sqlite3, sys, uuid
      c = sqlite3.connect(sys.argv[1])
      for i in range(int(sys.argv[2])): c.execute(sys.argv[3], (uuid.uuid4().bytes,))
      c.commit()" "$d" 1001 "INSERT INTO author VALUES (?, 'phone', 1, '2026-01-01 00:00:00.000')"
      try sync; printf '' > "$d"
      llvs sync | grep -o '[0-9]* authors are new to .*'; llvs document "$d" get a
      llvs document "$d" authors | grep -c phone; try sync; llvs sync | grep -c 'authors are new'
      llvs status | grep -o '[0-9]* authors are new to .*'
      llvs status --json | grep -c '"notes":\\["1002 authors are new'
      echo two > a; try sync; llvs status | grep -c 'authors are new'
      """)
    #expect(
      output == """
        1002 authors are new to notes.kvcrdt: programs with the original library can open it, but \
        not merge it into an open document
        one
        1001
        0
        1002 authors are new to notes.kvcrdt: programs with the original library can open it, but \
        not merge it into an open document
        1
        0

        """, "\(output)")
  }

  @Test("a program that always brings old values back is told of in the status")
  func broughtBack() throws {
    let output = try inMount(
      """
      app a 'one'; llvs sync -q; cp "$d" "$w/old"; echo two > notes/a; llvs sync -q
      for round in 1 2 3 4; do
        llvs status | grep -c 'brings back'
        sql "ATTACH '$w/old' AS old" 'INSERT INTO entry SELECT * FROM old.entry'; llvs sync -q
      done
      llvs status | grep -o 'a program brings back.*'; llvs document "$d" get a
      """)
    #expect(
      output == """
        0
        0
        0
        0
        a program brings back old values of a whenever it merges; they were rewritten 3 times \
        today and wait
        two

        """, "\(output)")
  }

  @Test("extended attributes tell what a file is in the document")
  func attributes() throws {
    let output = try inMount(
      """
      app note 'one'; llvs document "$d" put note two --scope list; try sync; cd notes
      tell() { getfattr --absolute-names --only-values -n user.llvs.$1 "$2" 2>&1; echo; }
      for name in type scope scopedkey; do tell $name note; tell $name list/note; done
      test "$(tell dots note | tr -d -)" = "$(dots '' note)" || echo other dots
      echo '{}' > settings; setfattr -n user.mime_type -v application/json settings; tell type settings
      printf '\\377' > list/bytes; tell type list/bytes; touch ../outside; tell type ../outside
      getfattr -d -m - note; tell state note
      """)
    #expect(
      output == """
        text
        text

        list
        note
        note
        json
        blob
        ../outside: user.llvs.type: No such attribute

        committed

        """, "\(output)")
  }

  @Test("a document that a program changes is synced by itself where that is on")
  func noticed() throws {
    let output = try inMount(
      """
      until_same() { for i in $(seq 300); do [ "$(cat "$1" 2>&1)" = "$2" ] && return; sleep 0.1; done; echo "$1 is not $2"; }
      app note 'one'; try 'set autosync=1d'; until_same notes/note one
      begin=$(date +%s%N); app note 'two'; until_same notes/note two
      [ $(($(date +%s%N) - begin)) -ge 2000000000 ] || echo 'before it was quiet'
      mv "$d" "$w/doc/new"; printf three | llvs document "$w/doc/new" put note; mv "$w/doc/new" "$d"
      until_same notes/note three; echo four > notes/here; try sync
      count() { llvs log | wc -l; }; before=$(count); sleep 11; [ $(count) = $before ] || echo 'synced again'
      try 'set autosync=off'; app note 'five'; sleep 4; cat notes/note; echo
      """, seconds: 120)
    #expect(output == "three\n", "\(output)")
  }

  @Test("a machine that was set back under its mount is noticed, and goes on under another name")
  func setBack() throws {
    let output = try inMount(
      """
      cd "$w"; mkdir m; llvs mount s m -q; cd m; llvs peer app "kvcrdt:$d" -q
      echo one > note; try sync; cd ..; llvs unmount m -q; cp -a s kept; rm kept/lock
      llvs mount s m -q; cd m; echo two > note; try sync; cd ..; llvs unmount m -q
      find s -mindepth 1 -maxdepth 1 ! -name lock -exec rm -r {} +; cp -a kept/. s
      llvs mount s m -q; cd m; for i in 1 2; do echo $i > other; try commit; done
      cp "$d" "$w/before"; try retrieve; try send; cmp "$d" "$w/before"; try 'set replica=new'
      try sync; llvs conflicts --json | grep -o '"path":"note"' | sort -u
      llvs document "$d" conflicts | grep -c note
      echo three > note; try sync; llvs document "$d" get note; llvs document "$d" get other
      cd ..; llvs unmount m -q
      """)
    #expect(
      output == "Bad message\nBad message\n\"path\":\"note\"\n1\nthree\n2\n", "\(output)")
  }

  @Test("a document that a program keeps locked is left for later")
  func locked() throws {
    let output = try inMount(
      """
      app a 'one'; : > "$w/out"
      python3 -c "import sqlite3, sys, time
      c = sqlite3.connect(sys.argv[1], isolation_level=None)
      c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); time.sleep(14)" "$d" >> "$w/out" &
      until grep -q locked "$w/out"; do sleep 0.05; done
      try retrieve; wait; try sync; cat notes/a; echo
      """)
    #expect(output == "Device or resource busy\none\n", "\(output)")
  }

  @Test(
    "a disk that is full or read-only leaves the document as it was",
    .enabled(if: SystemProcess.user == 0))
  func disk() throws {
    let output = try inMount(
      """
      mkdir "$w/disk" && mount -t tmpfs -o size=256k tmpfs "$w/disk" || exit
      trap 'umount "$w/disk"' EXIT
      llvs peer app rm -q; d="$w/disk/notes.kvcrdt"; llvs peer app "kvcrdt:$d#notes" -q
      app a 'one'; try sync; cat notes/a; echo
      head -c 300000 /dev/urandom > notes/big; cp "$d" "$w/before"; try commit; try send; cmp "$d" "$w/before"
      ls -A "$w/disk"; rm notes/big; echo two > notes/a; mount -o remount,ro "$w/disk"
      try commit; try send; cmp "$d" "$w/before"
      mount -o remount,rw "$w/disk"; try sync; llvs document "$d" get a
      """)
    #expect(
      output == """
        one
        No space left on device
        notes.kvcrdt
        Read-only file system
        two

        """, "\(output)")
  }

  @Test(
    "a document that its reader may not write is read, and stays as it was",
    .enabled(if: SystemProcess.user == 0))
  func denied() throws {
    let output = try inMount(
      """
      mkdir "$w/home"; chown 65534:65534 "$w/home"; cd "$w/home"; app a 'one'
      as() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$w/home" "$@"; }
      other() { as '\(MountedStore.program)' "$@" --store s 2>&1; }
      as '\(MountedStore.program)' init s -q; other peer app "kvcrdt:$d" -q; other sync -q; other show head:a; echo
      put() { as mkdir -p x; as sh -c "echo $1 > x/a"; other import x -q; }
      put two; cp -a "$d" "$w/before"; other sync | grep -o 'Permission denied' | head -1; cmp "$d" "$w/before"
      ls -A "$w/doc"; chown -R 65534:65534 "$w/doc"; chmod 444 "$d"
      other sync | grep -o 'Permission denied' | head -1; cmp "$d" "$w/before"; ls -A "$w/doc"
      chmod 644 "$d"; other sync -q; llvs document "$d" get a
      """)
    #expect(
      output == """
        one
        Permission denied
        notes.kvcrdt
        Permission denied
        notes.kvcrdt
        two

        """, "\(output)")
  }

  @Test("a copy that a service put beside a document is read, and can be removed afterwards")
  func conflictCopy() throws {
    let output = try inMount(
      """
      app a 'one'; try sync; cp "$d" "$w/doc/notes (1).kvcrdt"
      printf two | llvs document "$w/doc/notes (1).kvcrdt" put b; cp "$w/doc/notes (1).kvcrdt" "$w/copy"
      try sync; cat notes/b; echo; cmp "$w/doc/notes (1).kvcrdt" "$w/copy"
      llvs sync | grep -o 'holds nothing more and can be removed'; llvs document "$d" get b
      """)
    #expect(
      output == """
        two
        holds nothing more and can be removed
        two

        """, "\(output)")
  }

  @Test("on another branch a document is left alone")
  func otherBranch() throws {
    let output = try inMount(
      """
      app a 'one'; try sync; llvs branch other -q; echo two > notes/a
      llvs sync | grep -o 'left alone, as it belongs to the unnamed branch'
      llvs document "$d" get a
      """)
    #expect(output == "left alone, as it belongs to the unnamed branch\none\n", "\(output)")
  }

  @Test("documents that are files of the tree are merged by an arbiter")
  func joined() throws {
    let output = try inMount(
      """
      put() { printf "$3" | llvs document "$1" put "$2"; }
      put a.kvcrdt base old; llvs commit -q; llvs tag base -q
      mkdir "$w/in"; cp a.kvcrdt "$w/in/"
      put a.kvcrdt here 1; llvs commit -q
      put "$w/in/a.kvcrdt" there 2; put "$w/in/a.kvcrdt" base new
      llvs set 'arbiter=*.kvcrdt:exec \(MountedStore.program) document join' -q
      llvs import "$w/in" --on base -q
      llvs document a.kvcrdt list | sort; llvs document a.kvcrdt get base
      llvs document a.kvcrdt verify
      """)
    #expect(output == "base\nhere\nthere\nnew\nno damage found\n", "\(output)")
  }
}
