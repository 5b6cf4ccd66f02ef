import Foundation
import TestSupport
import Testing

@Suite("llvs import and export", .timeLimit(.minutes(3)))
struct ImportTests {
  @Test("what is named as a mount's own directory stays behind, at every level, and is named")
  func reserved() throws {
    let script = """
      mkdir -p d/.llvs/peers d/sub/deep/.llvs d/only/.llvs d/whole
      echo 'tag pwned' > d/.llvs/control; echo /nowhere > d/.llvs/peers/evil
      echo '*.secret' > d/.llvs/ignore; echo 'tag pwned' > d/sub/deep/.llvs/control
      echo 1 > d/a; ln d/a d/sub/deep/b; echo 2 > d/whole/-c; chmod 710 d/sub/deep
      touch -d @1000 d/sub/deep
      llvs import d "$@" -m taken 2> said; echo "code $?"; sort said
      """
    let named = """
      llvs: d/.llvs is left out: a mount has that name for itself.
      llvs: d/only/.llvs is left out: a mount has that name for itself.
      llvs: d/sub/deep/.llvs is left out: a mount has that name for itself.

      """
    let tool = try Tool()
    let stored = try tool.run("llvs init s -q; set -- --store s\n\(script)")
    #expect(stored.output.hasSuffix("code 12\n\(named)"), "\(stored.output)")
    #expect(try tool.run("llvs show head:sub/deep/b --store s").output == "1\n")
    #expect(try tool.run("llvs show head:.llvs/control --store s").status == 3)

    try #require(MountedStore.isPossible)
    try MountedStore.with { mounted in
      let tool = try Tool()
      let result = try tool.run("set -- --mount '\(mounted.path)'\n\(script)")
      #expect(result.output.hasSuffix("code 12\n\(named)"), "\(result.output)")
      let tree = try mounted.shell(
        """
        find . -mindepth 1 -not -path './.llvs*' | sort; stat -c '%a %Y' sub/deep; stat -c %h a
        cat whole/-c sub/deep/b; grep secret .llvs/ignore; ls .llvs/peers; ls .llvs/tags
        """)
      #expect(
        tree.output == """
          ./a
          ./only
          ./sub
          ./sub/deep
          ./sub/deep/b
          ./whole
          ./whole/-c
          710 1000
          2
          2
          1

          """, "\(tree.output)")
      #expect(try mounted.versions().count == 1)
    }
  }

  @Test("an archive is imported as the directory in it", arguments: ["tar", "tar.gz"])
  func archive(ending: String) throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir -p d/sub; echo 1 > d/a; echo 2 > d/sub/b; chmod 640 d/sub/b; ln -s a d/link
      tar -caf d.\(ending) -C d .; llvs init s -q
      llvs import d.\(ending) --into x --store s -q; llvs export head out --store s -q
      cd out; find . | sort; stat -c %a x/sub/b; cat x/a x/sub/b; readlink x/link; cd ..
      echo no archive > e.tar; llvs import e.tar --store s 2> /dev/null; echo "code $?"
      ls "${TMPDIR:-/tmp}" | grep -c llvs-import
      """)
    #expect(
      result.output == """
        .
        ./x
        ./x/a
        ./x/link
        ./x/sub
        ./x/sub/b
        640
        1
        2
        a
        code 9
        0

        """, "\(result.output)")
  }

  @Test(
    "what was saved before an import over it is in a version, and what is being written stays",
    .enabled(if: MountedStore.isPossible))
  func pending() throws {
    try MountedStore.with { mounted in
      let tool = try Tool()
      let result = try tool.run(
        """
        m='\(mounted.path)'; mkdir -p src/d; echo old > src/a; echo new > src/d/b
        echo v1 > "$m/a"; llvs commit --mount "$m" -q; echo IMPORTANT > "$m/a"
        llvs import src --mount "$m" -m taken -q; echo "code $?"; cat "$m/a"
        grep -l IMPORTANT "$m"/.llvs/versions/*/a | wc -l; llvs log --oneline --mount "$m" | wc -l
        # A process of its own: what inherits the descriptor and ends has the file saved.
        python3 -c 'import os, sys, time
        f = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC); os.write(f, b"half"); open("ready", "w")
        while not os.path.exists("go"): time.sleep(0.01)' "$m/d/b" &
        until [ -e ready ]; do sleep 0.01; done; echo more > src/c
        llvs import src --mount "$m" -q; echo "code $?"; cat "$m/d/b"; ls "$m"
        touch go; wait; llvs import src --mount "$m" -q; echo "code $?"; cat "$m/d/b"
        grep -l half "$m"/.llvs/versions/*/d/b | wc -l
        """)
      #expect(
        result.output == """
          code 0
          old
          1
          3
          llvs: not saved yet: d/b.
          code 6
          halfa
          d
          code 0
          new
          1

          """, "\(result.output)")
    }
  }

  @Test(
    "what the ignore patterns keep out of versions is told", .enabled(if: MountedStore.isPossible))
  func ignored() throws {
    try MountedStore.with { mounted in
      let result = try Tool().run(
        """
        m='\(mounted.path)'; echo '*.o' > "$m/.llvs/ignore"; mkdir -p src/d; echo 1 > src/a
        echo 2 > src/d/b.o; llvs import src --into p/q --mount "$m" -q; echo "code $?"
        echo 3 > src/c.o; rm src/a; echo 4 > src/d/e; llvs import src --into p/q --mount "$m" -q
        cd "$m"; cat p/q/d/b.o; cd .llvs/head/; find . -type f | sort
        """)
      #expect(
        result.output == """
          llvs: .llvs/ignore keeps p/q/d/b.o out of versions.
          code 0
          llvs: .llvs/ignore keeps p/q/c.o and 1 more out of versions.
          2
          ./p/q/a
          ./p/q/d/e

          """, "\(result.output)")
    }
  }

  @Test(
    "all files of an import are in the tree at once, in one version, what is ignored beside them",
    .enabled(if: MountedStore.isPossible))
  func whole() throws {
    try MountedStore.with { mounted in
      let result = try Tool().run(
        """
        m='\(mounted.path)'; mkdir -p src/d; for i in $(seq 2000); do echo $i > src/d/$i; done
        echo '*.o' > src/.llvsignore; echo 1 > src/d/x.o
        while [ ! -e done ]; do ls "$m/p/d" 2> /dev/null | grep -v x.o | wc -l >> seen; done &
        llvs import src --into p --mount "$m" -q; touch done; wait
        ls "$m/p/d" | grep -v x.o | wc -l >> seen; sort -u seen
        cat "$m/p/d/x.o"; llvs log --oneline --mount "$m" | wc -l
        llvs show head:p/d/x.o --mount "$m" > /dev/null 2>&1; echo $?
        echo 2 > src/d/x.o; echo 2 > src/d/1; llvs import src --into p --mount "$m" -q
        cat "$m/p/d/x.o" "$m/p/d/1"; llvs log --oneline --mount "$m" | wc -l
        """)
      #expect(result.output == "0\n2000\n1\n1\n3\n2\n2\n2\n", "\(result.output)")
    }
  }

  @Test(
    "nothing is copied where a name is a directory on one side only",
    .enabled(if: MountedStore.isPossible))
  func clashes() throws {
    try MountedStore.with { mounted in
      let result = try Tool().run(
        """
        m='\(mounted.path)'; mkdir -p src/d/e "$m/x/z"; echo 1 > src/a; echo 2 > src/d/e/z; echo 3 > "$m/d"
        try() { llvs import "$@" --mount "$m" -q; echo "code $?"; }
        try src; rm "$m/d"; mkdir -p "$m/d/e/z"; try src; try src/d/e --into x; echo 4 > "$m/f"
        try src --into f; try src --into f/g; ls "$m" "$m/x"; rmdir "$m/d/e/z"; try src; cat "$m/d/e/z"
        """)
      #expect(
        result.output == """
          llvs: d is not a directory in the tree.
          code 11
          llvs: d/e/z is a directory in the tree.
          code 11
          llvs: x/z is a directory in the tree.
          code 11
          llvs: f is not a directory in the tree.
          code 11
          llvs: f is not a directory in the tree.
          code 11
          \(mounted.path):
          d
          f
          x

          \(mounted.path)/x:
          z
          code 0
          2

          """, "\(result.output)")
    }
  }

  @Test("neither a store nor what it is in is imported, copied or exported into itself")
  func itself() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      llvs init s -q; mkdir d; echo 1 > d/a; llvs import d --store s -q; ln -s s link
      for from in s link s/segments; do llvs import $from --store s; echo "code $?"; done
      for to in s/copy link/journal/copy; do llvs backup $to --store s; echo "code $?"; done
      llvs export head s/segments/copy --store s; echo "code $?"
      llvs peer top / -q --store s; echo "code $?"; find s -name copy; llvs verify --store s -q
      """)
    #expect(
      result.output == """
        llvs: s is the store itself.
        code 2
        llvs: link is the store itself.
        code 2
        llvs: s/segments is in the store itself.
        code 2
        llvs: s/copy is in the store itself.
        code 2
        llvs: link/journal/copy is in the store itself.
        code 2
        llvs: s/segments/copy is in the store itself.
        code 2
        llvs: the top of all directories cannot be a remote.
        code 2

        """, "\(result.output)")
    try #require(MountedStore.isPossible)
    try MountedStore.with { mounted in
      let tool = try Tool()
      let result = try tool.run(
        """
        for from in '\(mounted.store)' '\(mounted.store)/..'; do
          llvs import "$from" --mount '\(mounted.path)' 2> said; echo "code $?"
        done
        """)
      #expect(result.output == "code 2\ncode 2\n", "\(result.output)")
      #expect(try mounted.versions().isEmpty)
    }
  }

  @Test("the times of directories are imported as export has them")
  func directoryTimes() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir -p d/empty d/full/below; echo 1 > d/full/below/f; export TZ=UTC
      touch -d @1000.000000007 d/empty d/full/below; touch -d @2000 d/full
      llvs init s -q; llvs import d --store s -q; llvs export head out --store s -q
      stat -c '%n %.9Y' out/empty out/full out/full/below
      llvs import out --store s
      touch -d @3000 out/empty; llvs import out --store s -q; llvs export head again --store s -q
      stat -c '%n %Y' again/empty again/full
      """)
    #expect(
      result.output == """
        out/empty 1000.000000007
        out/full 2000.000000000
        out/full/below 1000.000000007
        nothing to import: the tree holds all of out
        again/empty 3000
        again/full 2000

        """, "\(result.output)")
  }

  @Test("names are any bytes: what is imported and exported again is the same")
  func anyBytes() throws {
    let tool = try Tool()
    let result = try tool.run(
      #"""
      mkdir -p d/sub $'d/dir\xff/\xe9' && cd d
      echo one > $'\xff\xfe'; echo two > $'dir\xff/\xe9/in'; ln $'\xff\xfe' $'sub/hard\xc3'
      ln -s $'\xff\xfe' link; mkfifo $'pipe\xfe'; head -c 100000 /dev/zero > $'sub/big\xa0'
      touch -d @1000 $'dir\xff/\xe9/in'; chmod 710 $'dir\xff'; echo plain > plain
      setfattr -n user.a -v 1 $'\xff\xfe' 2>&1
      cd .. && llvs init s -q && llvs import d --store s -q && llvs export head out --store s -q
      echo "code $?"
      list() { (cd "$1" && find . -mindepth 1 -printf '%p %y %m %n %l %s' \( -type d -o -printf ' %T@' \) \
        -printf '\n' | sed '/ d [0-7]* /s/ [0-9]* *[0-9]*$//' | LC_ALL=C sort); }
      list d > 1; list out > 2; cmp 1 2 && cat out/link && wc -l < 2
      cat $'out/dir\xff/\xe9/in'; getfattr --only-values -n user.a $'out/\xff\xfe' && echo
      llvs import out --store s; llvs verify --store s -q; echo "code $?"
      """#)
    #expect(
      result.output == """
        code 0
        one
        10
        two
        1
        nothing to import: the tree holds all of out
        code 0

        """, "\(result.output)")
  }

  /// A tree with paths that no system call takes whole: 60 levels with long names, and many levels.
  private static func deep(_ levels: Int) -> String {
    """
    python3 - << 'end'
    import os
    os.mkdir('d'); top = os.open('d', os.O_RDONLY)
    for names in (['x%02d' % n + 97 * 'x' for n in range(60)], ['abcd'] * \(levels)):
        os.fchdir(top)
        for name in names: os.mkdir(name, 0o750); os.chdir(name)
        with open('leaf', 'w') as f: f.write('deep')
        with open('big', 'wb') as f: f.write(b'begin'); f.seek(3000000); f.write(b'end')
        os.chmod('leaf', 0o640); os.symlink('leaf', 'link'); os.link('leaf', 'other'); os.mkfifo('fifo')
        os.utime('leaf', (1000, 1000)); os.setxattr('leaf', 'user.a', b'b')
    end
    # What tar tells of a tree: it goes down step by step, too. Times of directories are each store's own.
    told() { tar --sort=name --format=pax --xattrs --pax-option=exthdr.name=x,delete=atime,delete=ctime \
      --mtime=@0 -C "$1" -cf - . | sha256sum; }
    ulimit -n 256
    """
  }

  @Test("paths of any length are imported and exported, with few descriptors")
  func deep() throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      \(Self.deep(1000))
      llvs init s -q && llvs import d --store s -q && llvs export head out --store s -q
      echo "code $?"; told d > 1; told out > 2; cmp 1 2; find out | wc -l
      """)
    #expect(result.output == "code 0\n1071\n", "\(result.output)")
    // What no mount could make is in no version either.
    let deeper = try tool.run(
      """
      \(Self.deep(1100).replacing("'d'", with: "'e'"))
      llvs import e --store s 2>&1 | sed 's/.*: //'; llvs log --oneline --store s | wc -l
      """)
    #expect(deeper.output == "File name too long.\n1\n", "\(deeper.output)")
  }

  @Test(
    "paths of any length are imported where the store is mounted",
    .enabled(if: MountedStore.isPossible))
  func deepMounted() throws {
    try MountedStore.with { mounted in
      let tool = try Tool()
      let result = try tool.run(
        """
        \(Self.deep(5))
        touch before; llvs import d --mount '\(mounted.path)' -q; echo "code $?"
        told d > 1; told '\(mounted.path)' > 2; cmp 1 2; find '\(mounted.path)' | wc -l
        llvs export head out --mount '\(mounted.path)' -q; echo "code $?"; told out > 3; cmp 1 3
        """)
      #expect(result.output == "code 0\n76\ncode 0\n", "\(result.output)")
    }
  }
}
