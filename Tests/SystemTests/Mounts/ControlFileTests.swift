import Foundation
import TestSupport
import Testing

extension Mounted {
  /// The control file, used by shells (docs/control-file.md).
  @Suite(.serialized) struct ControlFileTests {
    @Test("Parallel users each get the reply to their own command", .timeLimit(.minutes(1)))
    func ownReplies() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.python(
          #"""
          user = "import os,sys\nfor i in range(15):\n fd=os.open('.llvs/control',os.O_RDWR)\n a='a%s-%d'%(sys.argv[1],i)\n os.write(fd,b'set author='+a.encode())\n r=os.read(fd,4096).decode()\n assert r=='ok author=%s\\n'%a, r\n try: os.write(fd,b'nonsense %s'%a.encode()); sys.exit('accepted')\n except OSError as e: assert e.errno==22, e\n r=os.read(fd,4096).decode()\n assert 'nonsense' in r and a not in r.replace('nonsense '+a,''), r\n os.close(fd)"
          users = [subprocess.Popen([sys.executable, '-c', user, str(n)], stderr=subprocess.PIPE) for n in range(6)]
          for u in users:
              error = u.communicate()[1]
              same((u.returncode, error), (0, b''))
          """#)
      }
    }

    @Test(
      "A child that ends, or a window that changes, interrupts no command", .timeLimit(.minutes(1)))
    func harmlessSignals() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        // bash writes by itself, and is told when its jobs end.
        let result = try mounted.shell(
          """
          trap 'echo resized > ../resized' WINCH; head -c 40M /dev/urandom > big
          for i in 1 2 3; do sleep 0.0$i & done; (sleep 0.05; kill -WINCH $$) &
          echo 'commit big' > .llvs/control; echo "code $?"; llvs_versions=(.llvs/versions/*)
          echo ${#llvs_versions[@]}
          """, seconds: 50)
        #expect(result.output == "code 0\n1\n", "\(result.output)")
      }
    }

    @Test(
      "Peers and patterns that are changed while a merge waits for its arbiter keep nobody waiting",
      .timeLimit(.minutes(1)))
    func changesBesideMerge() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let result = try mounted.shell(
          #"""
          say() { echo "$1" > .llvs/control; }
          echo base > f; say commit; say 'switch head as side'; echo one > f; say commit
          say 'switch -'; echo two > f; say commit; gate=$(dirname "$PWD")/gate
          echo /nowhere > .llvs/peers/old
          say "set 'arbiter=exec while [ ! -e $gate ]; do touch $gate.asked; sleep 0.1; done; false'"
          say 'merge side' & until [ -e $gate.asked ]; do sleep 0.1; done
          for i in $(seq 30); do echo /nowhere > .llvs/peers/p$i & echo "*.tmp" > .llvs/ignore & done
          rm .llvs/peers/old & sleep 1
          timeout 3 sh -c 'echo live > g; cat g; ls'; echo "code $?"
          touch $gate; wait; ls .llvs/peers | wc -l; cat .llvs/ignore
          """#, seconds: 50)
        #expect(result.output == "live\nf\ng\ncode 0\n30\n*.tmp\n", "\(result.output)")
      }
    }

    @Test("What .llvs/README says prints the commands prints them", .timeLimit(.minutes(1)))
    func helpInReadme() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let result = try mounted.shell(
          "eval \"$(sed -n 's/^  *\\(.*echo help.*control\\)$/\\1/p' .llvs/README)\"")
        #expect(
          result.output.hasPrefix("commit [MESSAGE]\nhold [TIME]\nretrieve"), "\(result.output)")
      }
    }

    @Test("A peer in the mount of the store itself is refused, however it is named")
    func ownMount() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("mkdir d; ln -s $PWD/d ../link; mkdir ../bound; mount --bind d ../bound")
        defer { _ = try? mounted.shell("umount ../bound") }
        for address in ["$PWD", "$PWD/d", "$PWD/../link", "bundle+$PWD/d", "$PWD/../bound"] {
          let result = try mounted.shell(
            "echo \(address) > .llvs/peers/p; { echo sync p >&3; cat <&3; } 3<>.llvs/control")
          #expect(result.output.contains("in the mount of this store"), "\(result.output)")
        }
        #expect(try mounted.run("find . -path ./.llvs -prune -o -print") == ".\n./d\n")
      }
    }

    @Test(
      "After a command that fails, a handle runs nothing more until its reply is read",
      .timeLimit(.minutes(1)))
    func refusedAfterFailure() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let result = try mounted.shell(
          "echo x > f; mkdir ../peer; echo $PWD/../peer > .llvs/peers/p; printf 'commit\\nbad\\nsync\\n' > .llvs/control"
        )
        // bash writes line by line and tells the last error.
        #expect(result.output.contains("Operation canceled"), "\(result.output)")
        #expect(try mounted.versionCount() == 1)
        #expect(try mounted.run("ls -A ../peer") == "")
        // Each with its own errno.
        for (command, errno) in [
          ("restore 1999-01-01", "No such file or directory"),
          ("sync nobody", "No such file or directory"),
          ("settle", "Invalid argument"), ("commit\\nretrieve nobody", "No such file or directory"),
        ] {
          let result = try mounted.shell("printf '\(command)' > .llvs/control")
          #expect(result.output.contains(errno), "\(command): \(result.output)")
        }
        let tooBig = try mounted.shell(
          "python3 -c 'import os; os.write(os.open(\".llvs/control\", os.O_WRONLY), b\"commit \" + b\"x\" * 70000)'"
        )
        #expect(tooBig.output.contains("Argument list too long"), "\(tooBig.output)")
        #expect(
          try mounted.run("{ echo commit nothing >&3; cat <&3; } 3<>.llvs/control").hasPrefix("ok ")
        )
      }
    }

    @Test("What was saved before a commit is in its version, always", .timeLimit(.minutes(3)))
    func commitHoldsWhatWasSaved() throws {
      let rounds = Int(ProcessInfo.processInfo.environment["LLVS_TEST_COMMITS"] ?? "") ?? 200
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run(
          """
          for i in $(seq \(rounds)); do
            echo $i > f; echo commit > .llvs/control
            read x < .llvs/head/f; [ "$x" = $i ] || { echo "$x instead of $i"; exit 1; }
          done
          """, seconds: 150)
        #expect(try mounted.versionCount() == rounds)
      }
    }

    @Test(
      "A hundred commands that hang hinder nobody, and Ctrl-C ends each", .timeLimit(.minutes(2)))
    func hangingCommands() throws {
      // The peer stands on another mount, whose daemon is stopped: every call into it hangs.
      try MountedStore.with(stored: [:]) { host in
        try host.run("mkdir peer")
        try MountedStore.with(stored: ["settle": "1h"]) { mounted in
          try mounted.run(
            "echo before > f; echo '\(host.path)/peer' > .llvs/peers/stuck; echo commit > .llvs/control"
          )
          _ = Foundation.kill(host.daemon, SIGSTOP)
          defer { _ = Foundation.kill(host.daemon, SIGCONT) }
          try mounted.run(
            """
            for i in $(seq 100); do
              (exec 2> ../said.$i; echo "retrieve stuck" > .llvs/control; echo $? > ../ended.$i) > /dev/null &
              echo $! >> ../pids
            done
            sleep 1
            ! ls ../ended.* 2> /dev/null
            """)
          let start = Date()
          try mounted.run(
            """
            for i in $(seq 50); do echo $i > g$i; cat g$i f > /dev/null; done
            timeout 5 cat .llvs/control > /dev/null
            timeout 5 bash -c 'echo commit > .llvs/control'
            timeout 5 cat .llvs/head/g50
            """)
          #expect(Date().timeIntervalSince(start) < 8)
          // Ctrl-C.
          try mounted.run("kill -INT $(head -3 ../pids); kill -TERM $(tail -97 ../pids)")
          let haveEnded = eventually(seconds: 20) {
            (try? mounted.shell("kill -0 $(cat ../pids) 2>&1 | grep -vc 'No such process'").output)
              == "0\n"
          }
          #expect(haveEnded, "commands did not end at a signal")
          try mounted.run(
            "echo after > f; echo commit > .llvs/control; cat .llvs/head/f; cat .llvs/control")
          _ = Foundation.kill(host.daemon, SIGCONT)
          let refused = try mounted.shell(
            "{ echo sync >&3; cat <&3; } 3<>.llvs/control; ls '\(host.path)/peer'", seconds: 30)
          #expect(
            refused.output.contains("is in the mount of another store"), "\(refused.output)")
        }
      }
    }

    @Test(
      "A peer that is not there gives its own errno and a reason, and the tree goes on",
      .timeLimit(.minutes(1)))
    func peerIsNotThere() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        let result = try mounted.shell(
          "echo x > f; echo /nowhere/at/all > .llvs/peers/usb; echo sync usb > .llvs/control; cat .llvs/control"
        )
        #expect(result.output.contains("No route to host"), "\(result.output)")
        #expect(result.output.contains("/nowhere/at/all"), "\(result.output)")
        // A FIFO where a folder should be does not hang.
        let fifo = try mounted.shell(
          "mkfifo ../fifo; echo $PWD/../fifo > .llvs/peers/fifo; timeout 10 bash -c 'echo sync fifo > .llvs/control'; echo $?"
        )
        #expect(
          !fifo.output.hasSuffix("124\n") && !fifo.output.hasSuffix("0\n0\n"), "\(fifo.output)")
        #expect(try mounted.run("cat f") == "x\n")
      }
    }
  }
}
