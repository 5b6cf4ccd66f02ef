import Platform
import TestSupport
import Testing

extension Mounted {
  /// Access control lists, driven by the programs that people use for them.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct AccessListTests {
    /// Makes a tree `t` with lists of every kind, and a shell function that prints those of a tree.
    private static let tree = """
      lists() { (cd "$1"; getfacl -R -n -p . | sort); }
      mkdir -p t/d; echo x > t/f; echo y > t/d/g; mkfifo t/p
      setfacl -m u:1000:r,g:1001:rw t/f; setfacl -m u:1000:rwx,d:u:1000:rx,d:g:1002:rw t/d
      setfacl -m u:7:- t/p; echo z > t/d/h; mkdir t/d/e; chmod 750 t/d

      """

    private func with(_ options: String?, _ body: (MountedStore) throws -> Void) throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: options.map { ["-o", $0] } ?? [])
      try body(mounted)
      try mounted.unmount()
      try mounted.verify()
    }

    @Test(
      "cp, rsync and tar bring lists in and out as they are on a local disk",
      arguments: [nil, "allow_other"])
    func copies(options: String?) throws {
      try with(options) { mounted in
        let output = try mounted.run(
          Self.tree + """
            lists t > ../here
            mkdir ../local; (cd ../local; \(Self.tree.replacing("\n", with: "; ")) true)
            lists ../local/t > ../there; diff ../here ../there
            for way in 'cp -a' 'rsync -aAX' tar; do
              rm -rf ../out ../back back; mkdir ../out back
              case $way in
                tar) tar --acls --xattrs -cf ../tar t; tar --acls --xattrs -xpf ../tar -C ../out
                  tar --acls --xattrs -cf ../tar -C ../local t; tar --acls --xattrs -xpf ../tar -C back ;;
                *) $way t ../out/; $way ../local/t back/ ;;
              esac
              lists ../out/t | diff ../here - && lists back/t | diff ../here - && echo "$way"
            done
            """)
        #expect(output == "cp -a\nrsync -aAX\ntar\n")
      }
    }

    @Test("Versions, remounts and exchanges keep lists, and history shows them")
    func versions() throws {
      try with("allow_other") { mounted in
        try mounted.run(
          Self.tree + """
            lists t > ../here; echo commit > .llvs/control; old=$(realpath .llvs/head)
            setfacl -R -b t; setfacl -k t/d; echo commit > .llvs/control
            test -z "$(getfacl -R -n -p -s t)"
            lists "$old/t" | diff ../here -
            ! setfacl -m u:1:r "$old/t/f" 2> ../said; grep -q 'Read-only' ../said
            echo 'restore head~' > .llvs/control; lists t | diff ../here -
            '\(MountedStore.program)' peer stick "$PWD/../stick"; mkdir ../stick; echo 'sync stick' > .llvs/control
            """)
        try mounted.unmount()
        try mounted.mount()
        #expect(
          try mounted.run(
            "lists() { (cd \"$1\"; getfacl -R -n -p . | sort); }; lists t | diff ../here - && echo same"
          )
            == "same\n")
        let other = try TestSupport.shell(
          """
          set -e; mkdir m; '\(MountedStore.program)' init second
          '\(MountedStore.program)' peer stick "$PWD/stick" --store second
          '\(MountedStore.program)' sync stick --store second
          '\(MountedStore.program)' mount second m
          (cd m/t; getfacl -R -n -p . | sort) | diff here - && echo same
          '\(MountedStore.program)' unmount m
          '\(MountedStore.program)' export head out --store second
          (cd out/t; getfacl -R -n -p . | sort) | diff here - && echo same
          """, in: mounted.directory)
        #expect(
          other.status == 0
            && other.output.split(separator: "\n").filter { $0 == "same" }.count == 2,
          "\(other.output)")
      }
    }

    @Test("A chmod here and a list from elsewhere make one list, with the mode that was given")
    func merged() throws {
      try with(nil) { mounted in
        try mounted.run(
          """
          echo x > f; chmod 640 f; echo commit > .llvs/control
          echo 'branch side' > .llvs/control; setfacl -m u:1000:rwx,m::r f; echo commit > .llvs/control
          echo 'switch -' > .llvs/control; chmod 600 f; echo commit > .llvs/control
          echo 'merge side' > .llvs/control
          """)
        let found = try mounted.run("stat -c %a f; getfacl -n -p -c f").split(separator: "\n")
        let mode = try #require(found.first)
        let mask = found.first { $0.hasPrefix("mask::") }
        #expect(found.contains { $0.hasPrefix("user:1000:rwx") }, "\(found)")
        #expect(mode == "600" && mask == "mask::---" || mode == "640" && mask == "mask::r--")
      }
    }

    @Test(
      "An ordinary user's mount keeps lists and does not heed them",
      .enabled(if: SystemProcess.effectiveUser == 0, "needs other users"))
    func ordinary() throws {
      let directory = try TemporaryDirectory()
      // A device that this mount has alone.
      let result = try TestSupport.shell(
        """
        mkdir m && chown 65534:65534 . m && chmod 755 .
        unshare -m bash -c '
          mknod -m 666 fuse c 10 229 && mount --bind fuse /dev/fuse || exit 77
          echo user_allow_other > conf; mount --bind conf /etc/fuse.conf || exit 77
          as() { setpriv --reuid $1 --regid $1 --clear-groups "${@:2}"; }
          as 65534 "\(MountedStore.program)" mount s m -o allow_other || exit 77
          as 65534 bash -ec "cd m; umask 077; echo x > f; setfacl -m u:65533:r f; chmod 600 f; echo y > g
            setfacl -m u:65533:--- g; chmod 644 g; getfacl -n -p -c f g; echo commit > .llvs/control
            getfacl -n -p -c .llvs/head/f"
          as 65533 cat m/f; as 65533 cat m/g
          as 65534 "\(MountedStore.program)" unmount m'
        """, in: directory.path)
      guard result.status != 77 else { return }
      #expect(result.output.contains("user:65533:r--\t#effective:---"), "\(result.output)")
      #expect(
        result.output.split(separator: "user:65533:r--", omittingEmptySubsequences: false).count
          == 3)
      #expect(result.output.contains("m/f: Permission denied"), "\(result.output)")
      #expect(result.output.contains("\ny\n"), "\(result.output)")
    }
  }
}
