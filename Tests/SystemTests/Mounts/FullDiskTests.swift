import Foundation
import TestSupport
import Testing

extension Mounted {
  /// A disk that is full, for real: what was answered is there, reading goes on, and removing helps.
  @Suite(.serialized, .enabled(if: LoopDisk.isPossible, noLoop)) struct FullDiskTests {
    /// Writes files until the disk is full, and tells what of each was answered.
    private static let fill = #"""
      import json
      kind = sys.argv[1]
      r = random.Random(7)
      answered, full = {}, 0
      for index in range(4000):
          name = '%s%d' % (kind, index)
          data = r.randbytes(r.choice([500, 4000, 30000, 300000]) if kind == 'f' else 1 << 20)
          done = 0
          try:
              fd = os.open(name, os.O_CREAT | os.O_WRONLY)
              answered[name] = b''
              while done < len(data):
                  done += os.write(fd, data[done:])
                  answered[name] = data[:done]
              os.close(fd)
          except OSError as error:
              assert error.errno == errno.ENOSPC, error
              if done or name in answered: os.close(fd)
              full += 1
              if full == 5: break
      assert full == 5, 'the disk did not get full'
      import pickle
      put('../answered', pickle.dumps(answered))
      print(sum(map(len, answered.values())))
      """#
    private static let check = #"""
      import pickle
      for name, data in pickle.loads(get('../answered')).items():
          if os.path.exists('../gone') and name in get('../gone').decode().split(): continue
          found = get(name)
          assert found[:len(data)] == data, '%s: %d bytes instead of %d' % (name, len(found), len(data))
      """#

    @Test(
      "filled to the last byte, nothing that was answered is lost, rm makes room, and work goes on",
      .timeLimit(.minutes(2)))
    func fill() throws {
      try MountedStore.with(diskOf: 64, settings: ["reserve=0"]) { mounted in
        try mounted.run("echo first > first; echo commit > .llvs/control")
        let bytes = try #require(
          Int(try mounted.python(Self.fill, arguments: "f").split(separator: "\n").last ?? ""))
        #expect(bytes > 35 << 20)
        try mounted.python(Self.check)
        #expect(try mounted.run("cat first; cat .llvs/versions/*/first") == "first\nfirst\n")
        // Killed on the full disk, and mounted again: everything is there, and names can be removed.
        try mounted.kill()
        try mounted.mount()
        try mounted.python(Self.check)
        try mounted.run("ls f1?? f2?? 2>/dev/null > ../gone; rm $(cat ../gone); test ! -e f100")
        try mounted.python(Self.check)
        // What was removed makes room at once.
        try mounted.run("head -c 3000000 /dev/urandom > new; cmp <(head -c 9 new) <(head -c 9 new)")
        try mounted.run("rm new; rm f[3-9]*; ls f* > ../left; cat f* | sha256sum > ../sum")
        try mounted.run("echo commit > .llvs/control; cat f* | sha256sum | cmp - ../sum")
        try mounted.run("cat .llvs/head/f* | sha256sum | cmp - ../sum; ls f* | cmp - ../left")
        try mounted.verify()
        try mounted.unmount()
        try mounted.mount()
        try mounted.run(
          "cat f* | sha256sum | cmp - ../sum; echo on > on; echo commit > .llvs/control")
        try mounted.verify()
      }
    }

    @Test(
      "a disk that somebody else fills: reading, removing and mounting go on, versions when there is room",
      .timeLimit(.minutes(2)))
    func filledByOthers() throws {
      try MountedStore.with(diskOf: 64, settings: ["reserve=0"]) { mounted in
        try mounted.run(
          "mkdir d; for i in $(seq 200); do echo $i > d/$i; done; echo commit > .llvs/control")
        try mounted.run("for i in $(seq 100); do echo new $i > d/$i; done")
        let other = "dd if=/dev/zero of='\(mounted.store)/other' bs=64k 2>/dev/null"
        _ = try TestSupport.shell("\(other); dd if=/dev/zero bs=512 >> '\(mounted.store)/other'")
        #expect(try mounted.run("cat d/100 d/101") == "new 100\n101\n")
        try mounted.run("rm d/1 d/101; mv d/2 d/two; ! test -e d/1; test $(ls d | wc -l) = 198")
        try mounted.kill()
        try mounted.mount()
        #expect(
          try mounted.run("cat d/100 d/102 d/two; ls d | wc -l") == "new 100\n102\nnew 2\n198\n")
        try mounted.run("rm d/3; rm -r d; ! test -e d; cat .llvs/versions/*/d/3")
        try mounted.kill()
        _ = try TestSupport.shell("rm '\(mounted.store)/other'")
        try mounted.mount()
        try mounted.run(
          "! test -e d; echo x > x; echo commit > .llvs/control; test -e .llvs/head/x")
        try mounted.verify()
      }
    }

    @Test(
      "filled, a version refused, killed: names can be removed still, and what they had makes room",
      .timeLimit(.minutes(2)), arguments: [1024, 4096])
    func refusedVersion(blockSize: Int) throws {
      try MountedStore.with(diskOf: 48, blockSize: blockSize) { mounted in
        try mounted.run(
          """
          echo keep > keep; echo commit > .llvs/control; i=0
          while head -c 1000000 /dev/urandom > b$i; do i=$((i+1)); test $i -lt 80 || exit 1; done
          ! echo commit > .llvs/control; rm b$i; sha256sum b[2-9] > ../sums
          """)
        try mounted.kill()
        try mounted.mount()
        try mounted.run("rm b0 b1; sha256sum --quiet -c ../sums; test $(cat keep) = keep")
        // What was removed makes room, whatever the journal holds beside it.
        try mounted.run("head -c 500000 /dev/urandom > new; sha256sum new >> ../sums")
        // Full again, unmounted and mounted, and killed once more.
        try mounted.run("while head -c 1000000 /dev/urandom > more; do mv more m$RANDOM; done; :")
        try mounted.unmount()
        try mounted.mount()
        try mounted.run("sha256sum --quiet -c ../sums; rm more; rm b1?")
        try mounted.kill()
        try mounted.mount()
        try mounted.run(
          """
          sha256sum --quiet -c ../sums; rm m* b*; echo commit > .llvs/control
          test $(cat .llvs/head/keep) = keep; cmp new .llvs/head/new
          """)
        try mounted.verify()
      }
    }

    @Test(
      "Filled by small writes, what is removed makes room at once, and a small file is saved for ever",
      .timeLimit(.minutes(3)))
    func smallWrites() throws {
      // Below its reserve: no version is made, so that nothing begins the journal anew but its size.
      try MountedStore.with(diskOf: 64) { mounted in
        try mounted.python(
          #"""
          import errno
          def until_full(size):
              for index in range(100000):
                  try:
                      with open('s%d' % index, 'wb', buffering=0) as f:
                          for _ in range(size // 4096): f.write(os.urandom(4096))
                  except OSError as error:
                      assert error.errno == errno.ENOSPC, error
                      return index
          # As long as one file is all there is, the journal holds not much more than it.
          for turn in range(4000): put('one', b'%08d' % turn * 2500)
          assert get('one') == b'00003999' * 2500
          files = until_full(1 << 20)
          assert files > 30, files
          for index in range(files): os.unlink('s%d' % index)
          if os.path.exists('s%d' % files): os.unlink('s%d' % files)
          again = until_full(1 << 20)
          assert again > files * 3 // 4, (files, again)
          assert get('one') == b'00003999' * 2500
          kept = {'s%d' % i: get('s%d' % i) for i in range(3)}
          for index in range(3, again): os.unlink('s%d' % index)
          put('new', b'n' * 1000000)
          import pickle
          put('../kept', pickle.dumps(kept))
          """#, seconds: 120)
        try mounted.kill()
        try mounted.mount()
        try mounted.python(
          """
          import pickle
          for name, data in pickle.loads(get('../kept')).items(): assert get(name) == data, name
          assert get('new') == b'n' * 1000000 and get('one') == b'00003999' * 2500
          """)
        try mounted.run("echo commit > .llvs/control; cmp new .llvs/head/new; rm s*; echo x > x")
        try mounted.verify()
      }
    }

    @Test("On a full disk, keep and compact work and free space", .timeLimit(.minutes(2)))
    func compaction() throws {
      try MountedStore.with(diskOf: 64) { mounted in
        try mounted.run(
          """
          for i in 1 2 3 4 5; do head -c 4000000 /dev/urandom > f; echo commit > .llvs/control; done
          i=0; while head -c 100000 /dev/urandom > b$i; do i=$((i+1)); test $i -lt 900 || exit 1; done
          """)
        _ = try TestSupport.shell("dd if=/dev/zero of='\(mounted.store)/other' bs=512 2>/dev/null")
        let llvs = "'\(MountedStore.program)'"
        let before = try mounted.run("sha256sum < f")
        try mounted.run(
          """
          \(llvs) keep --dry-run all:1s; \(llvs) keep all:1s; \(llvs) compact --dry-run; \(llvs) compact > ../out
          grep -q '^4 versions forgotten, 1[56]\\.. MB came free' ../out || { cat ../out; exit 1; }
          head -c 10000000 /dev/urandom > new
          """)
        #expect(try mounted.run("sha256sum < f") == before)
        try mounted.run("rm b* new '\(mounted.store)/other'; echo commit > .llvs/control")
        try mounted.verify()
      }
    }

    @Test(
      "On a small disk without a reserve, removing makes room after a refused version, and unmounting tells of no space",
      .timeLimit(.minutes(2)))
    func smallDisk() throws {
      try MountedStore.with(diskOf: 24) { mounted in
        try mounted.run("test ! -e '\(mounted.store)/journal/reserve'")
        let fill = """
          i=0; while head -c 200000 /dev/urandom > f$i; do i=$((i+1)); test $i -lt 200 || exit 1; done
          """
        try mounted.run("\(fill); test $i -gt 30; ! echo commit > .llvs/control; rm f*")
        try mounted.run("for i in 1 2 3; do head -c 500000 /dev/urandom > new$i; done")
        try mounted.run("sha256sum new* > ../sums; \(fill)")
        let result = try TestSupport.shell("'\(MountedStore.program)' unmount '\(mounted.path)'")
        #expect(result.status == 7, "\(result.status) \(result.output)")
        try mounted.mount()
        try mounted.run("sha256sum --quiet -c ../sums; rm f*; echo commit > .llvs/control")
        try mounted.verify()
      }
    }
  }
}
