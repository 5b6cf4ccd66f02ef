extension Machines.GrowthTests {
  static let works: [Work] = [
    Work(name: "mounts", script: ":", end: .unmount, reasons: [.mount: 1]),
    Work(
      name: "mounts with a version", script: "echo $i > f", end: .unmount,
      reasons: [.mount: 1, .version: 1, .change: 1, .head: 1, .cut: 1, .event: 1]),
    Work(
      name: "mounts with a file that goes", script: "echo $i > t$i; rm t$i", end: .unmount,
      reasons: [.mount: 1]),
    Work(
      name: "kills",
      script: "echo $i > f; echo $i > k$i; rm k$i; head -c 300K /dev/urandom > part; rm part",
      end: .kill,
      reasons: [.mount: 1, .version: 0.1, .change: 0.1, .head: 0.1, .cut: 0.1, .event: 0.1]),
    Work(
      name: "versions", script: "echo $i > f; echo commit > .llvs/control", isOfVersions: true,
      reasons: [.version: 1, .change: 1, .head: 1, .cut: 1, .event: 1]),
    Work(
      name: "versions of names",
      script: """
        echo $i > g; mkdir d; echo $i > d/x; echo commit > .llvs/control
        mv g d/x; mv d e; echo commit > .llvs/control; rm -r e; echo commit > .llvs/control
        """, isOfVersions: true, reasons: [.version: 3, .change: 10, .head: 3, .cut: 3, .event: 3]),
    Work(
      name: "versions of hard links",
      script: """
        echo $i > l; ln l l2; echo commit > .llvs/control
        rm l l2; echo commit > .llvs/control
        """, isOfVersions: true,
      reasons: [.version: 2, .change: 4, .head: 2, .cut: 2, .event: 2, .link: 2]),
    Work(name: "commits of nothing", script: "echo commit > .llvs/control", isOfVersions: true),
    Work(
      name: "files that go before a version",
      // More than the journal takes before it is begun again.
      script: "head -c 20M /dev/urandom > big; sync -f big; rm big; mkdir x y; mv x y; rm -r y",
      reasons: [.journal: 0.4]),
    Work(name: "syncs of nothing", script: "echo sync > .llvs/control"),
    Work(
      name: "syncs of a version", script: "echo $i > f; echo sync > .llvs/control",
      reasons: [.version: 1, .change: 1, .head: 1, .cut: 2, .event: 2, .bundle: 1]),
    Work(
      name: "syncs of two stores",
      script: """
        echo $i > f; echo sync > .llvs/control; (cd $B; echo $i > b; echo sync > .llvs/control)
        echo sync > .llvs/control
        """, reasons: [.version: 3, .change: 3, .head: 2, .cut: 4, .event: 4, .bundle: 2]),
    Work(
      name: "conflicts",
      script: """
        echo a$i > f; echo sync > .llvs/control; (cd $B; echo b$i > f; echo sync > .llvs/control)
        echo sync > .llvs/control; echo settle --all > .llvs/control; echo sync > .llvs/control
        (cd $B; echo sync > .llvs/control)
        """, reasons: [.version: 4, .change: 4, .head: 3, .cut: 8, .event: 6, .bundle: 4]),
    Work(
      name: "peers that are forgotten",
      script: """
        mkdir $T/other; $LLVS peer other bundle+$T/other; $LLVS sync other; $LLVS peer other rm; rm -r $T/other
        mkdir $T/sealed; echo tulip > $T/words
        LLVS_PASSPHRASE_FILE=$T/words $LLVS peer sealed bundle+$T/sealed --encrypt --light
        $LLVS sync sealed; $LLVS peer sealed rm; rm -r $T/sealed
        """,
      // A place that lost its bundles gets one with everything, and one that announces the lost ones.
      reasons: [.event: 6, .bundle: 4, .key: 1]),
    Work(
      name: "tags, branches, patterns and settings",
      script: """
        $LLVS tag t$i; $LLVS tag -d t$i; $LLVS branch b$i; $LLVS switch -; $LLVS branch -d b$i --force
        echo "*.$i" > .llvs/ignore; : > .llvs/ignore; $LLVS set author=$i; $LLVS set author=
        """, reasons: [.version: 4, .head: 2, .cut: 5, .event: 4, .name: 2]),
    Work(
      name: "searches", script: "echo word$i > f; echo commit > .llvs/control; $LLVS search word$i",
      reasons: [.version: 1, .change: 1, .head: 1, .cut: 1, .event: 1, .text: 1]),
    Work(
      name: "undo and redo",
      script: "echo $i > f; echo commit > .llvs/control; $LLVS undo; $LLVS redo",
      // The search index takes each text in, or leaves out those that were replaced meanwhile.
      reasons: [.version: 3, .change: 3, .head: 3, .cut: 5, .event: 3, .text: 1]),
    Work(
      name: "readers",
      script: """
        $LLVS log; $LLVS status; $LLVS diff; ls -lR .llvs/head .llvs/heads; cat .llvs/log
        $LLVS backup $T/backup; rm -r $T/backup; $LLVS verify; $LLVS search nothing-of-that || :
        $LLVS grep word1 || :; $LLVS space
        """),
  ]
}
