import Foundation
import Platform
import TestSupport
import Testing

extension Mounted {
  /// What another user can do: root runs these as `nobody`.
  @Suite(
    .serialized,
    .enabled(if: SystemProcess.effectiveUser == 0, "only root can act as another user"))
  struct PermissionTests {
    private func asNobody(_ script: String, _ mounted: MountedStore) throws -> ShellResult {
      try TestSupport.shell(
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups bash -c '\(script)'", in: "/")
    }

    @Test("Another user reads neither the mount nor the store", .timeLimit(.minutes(1)))
    func others() throws {
      try MountedStore.with(stored: [:]) { mounted in
        try mounted.run("echo secret > f; echo commit > .llvs/control")
        // The directory lets everybody in; what is in it does not.
        _ = try TestSupport.shell("chmod 755 . store", in: mounted.directory)
        for path in [
          mounted.path + "/f", mounted.path + "/.llvs/control", mounted.path + "/.llvs/log",
        ] {
          let result = try asNobody("cat \(path)", mounted)
          #expect(result.status != 0 && !result.output.contains("secret"), "\(result.output)")
        }
        let found = try asNobody(
          "find \(mounted.store) -type f -readable -o -type d -executable -mindepth 1 2>/dev/null",
          mounted)
        #expect(found.output == "", "\(found.output)")
      }
    }

    @Test(
      "An ordinary user who may not let others in is told what is missing",
      .timeLimit(.minutes(1)))
    func refusedToAllow() throws {
      let directory = "/tmp/llvs-user-\(UUID().uuidString.prefix(8))"
      defer { _ = try? TestSupport.shell("rm -rf '\(directory)'") }
      // A device and a configuration that this mount has alone.
      let result = try TestSupport.shell(
        """
        mkdir -p '\(directory)/m' && cd '\(directory)' && chown 65534:65534 . m && chmod 755 .
        unshare -m bash -c '
          mknod -m 666 fuse c 10 229 && mount --bind fuse /dev/fuse || exit 77
          echo "#user_allow_other" > conf; mount --bind conf /etc/fuse.conf || exit 77
          setpriv --reuid 65534 --regid 65534 --clear-groups \\
            "\(MountedStore.program)" mount s m -o allow_other
          code=$?; [ ! -e s ] || echo a store is left; exit $code'
        """)
      guard result.status != 77 else { return }
      #expect(result.status == 8, "\(result.output)")
      #expect(
        result.output.contains("user_allow_other in /etc/fuse.conf")
          && !result.output.contains(": .") && !result.output.contains("left"), "\(result.output)")
    }

    @Test(
      "With allow_other others see files as modes allow, and never the control file",
      .timeLimit(.minutes(1)))
    func allowed() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: ["-o", "allow_other"])
      try mounted.run(
        "echo open > open; echo closed > closed; chmod 600 closed; echo commit > .llvs/control")
      #expect(try asNobody("cat \(mounted.path)/open", mounted).output == "open\n")
      for name in ["closed", ".llvs/control", ".llvs/head/closed", ".llvs/peers/x"] {
        let result = try asNobody("cat \(mounted.path)/\(name)", mounted)
        #expect(result.status != 0, "\(name): \(result.output)")
      }
      let write = try asNobody("echo commit > \(mounted.path)/.llvs/control", mounted)
      #expect(write.status != 0 && write.output.contains("Permission denied"), "\(write.output)")
      let peer = try asNobody("echo /tmp > \(mounted.path)/.llvs/peers/x", mounted)
      #expect(peer.status != 0, "\(peer.output)")
    }

    @Test(
      "History shows others no more than the directories of then and now let them see",
      .timeLimit(.minutes(1)))
    func closedDirectories() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: ["-o", "allow_other"])
      try mounted.run(
        """
        mkdir closed was was/sub open; chmod 700 closed was
        for d in closed was/sub open; do echo secret > $d/f; done; echo commit one > .llvs/control
        chmod 755 was; for d in closed was/sub open; do echo new >> $d/f; done
        echo commit two > .llvs/control; mkdir late; echo secret > late/f
        echo commit > .llvs/control; chmod 700 late
        """)
      let seen = try asNobody(
        """
        cd \(mounted.path); cat .llvs/versions/*/closed/f .llvs/history/closed/f/* .llvs/history/was/sub/f/*
        cat was/sub/.llvs/history/f/* .llvs/history/late/f/* .llvs/conflicts/closed/f/*
        for v in .llvs/versions/*; do v=${v##*/}; cat was/sub/.llvs/versions/$v/f; done | sort | uniq -c
        ls .llvs/history/closed .llvs/history/late .llvs/history/was/sub/f
        """, mounted)
      // Two later versions show what was open by then; the first, and what lies in closed directories, nothing.
      let shown = seen.output.split(separator: "\n").filter {
        !$0.contains("denied") && !$0.contains("No such file")
      }
      #expect(shown.map { $0.trimmingCharacters(in: .whitespaces) } == ["2 new", "2 secret"])
      let open = try asNobody("cat \(mounted.path)/.llvs/history/open/f/*", mounted)
      #expect(open.output.split(separator: "\n").sorted() == ["new", "secret", "secret"])
      // Root, who mounted, is shown everything.
      let own = try mounted.run("cat .llvs/history/{closed,was/sub,late}/f/* | sort | uniq -c")
      #expect(own.contains("2 new") && own.contains("5 secret"), "\(own)")
    }

    @Test("What tells of the whole tree is for who mounted alone", .timeLimit(.minutes(1)))
    func texts() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      try mounted.mount(options: ["-o", "allow_other"])
      try mounted.run("mkdir -m 700 p; echo x > p/layoffs; echo commit layoffs > .llvs/control")
      for path in [
        "log", "status", "status.json", "head/.llvs/changes", "head/.llvs/info", "peers/x",
        "control",
      ] {
        let result = try asNobody("cat \(mounted.path)/.llvs/\(path)", mounted)
        #expect(
          result.status != 0 && !result.output.contains("layoffs"), "\(path): \(result.output)")
      }
      for path in ["peers", "conflicts"] {
        #expect(try asNobody("ls \(mounted.path)/.llvs/\(path)", mounted).status != 0, "\(path)")
      }
      #expect(try asNobody("cat \(mounted.path)/.llvs/README", mounted).status == 0)
      let unmount = try asNobody("\(MountedStore.program) unmount \(mounted.path)", mounted)
      #expect(
        unmount.status == 8 && unmount.output.contains("Operation not permitted"),
        "\(unmount.output)")
    }

    @Test(
      "What root mounts for somebody stays his: everything made meanwhile belongs to him",
      .timeLimit(.minutes(1)))
    func kept() throws {
      let mounted = try MountedStore()
      defer { mounted.tearDown() }
      _ = try TestSupport.shell("chmod 755 .; mkdir own; chown nobody own", in: mounted.directory)
      let store = mounted.directory + "/own/store"
      let made = try asNobody("\(MountedStore.program) init \(store)", mounted)
      #expect(made.status == 0, "\(made.output)")
      let link = try TestSupport.shell("ln -s \(store) \(mounted.store)")
      #expect(link.status == 0)
      try mounted.mount()
      // Small and large, so that every kind of file of a store is made.
      try mounted.run(
        "echo x > f; head -c 3M /dev/urandom > big; echo commit > .llvs/control; echo y > f")
      try mounted.kill()
      let foreign = try TestSupport.shell(
        "find \(store) ! -user nobody; ls \(store)/journal | wc -l")
      #expect(foreign.output.wholeMatch(of: /[1-9][0-9]*\n/) != nil, "\(foreign.output)")
      for verb in ["log --oneline", "verify", "commit --message own"] {
        let result = try asNobody("\(MountedStore.program) \(verb) --store \(store)", mounted)
        #expect(result.status == 0, "\(verb): \(result.output)")
      }
    }

    @Test("Links in a store lead nothing that is written to another place", .timeLimit(.minutes(1)))
    func links() throws {
      for name in ["lock", "log", "segments", "journal", "store.sqlite", "index.sqlite", "readers"]
      {
        let mounted = try MountedStore()
        defer { mounted.tearDown() }
        _ = try TestSupport.shell(
          """
          '\(MountedStore.program)' init store; mkdir outside; echo mine > outside/file
          rm -rf 'store/\(name)'
          case \(name) in segments | journal) ln -s "$PWD/outside" 'store/\(name)' ;;
          *) ln -s "$PWD/outside/file" 'store/\(name)' ;; esac
          """, in: mounted.directory)
        do { try mounted.mount() } catch {
          #expect(mounted.daemonLog.contains(name), "\(name): \(mounted.daemonLog)")
        }
        if mounted.daemonLog.isEmpty {
          _ = try mounted.shell("echo x > f; echo commit > .llvs/control; llvs log")
        }
        let left = try TestSupport.shell("ls outside; cat outside/file", in: mounted.directory)
        #expect(left.output == "file\nmine\n", "\(name): \(left.output)")
      }
    }
  }
}
