import TestSupport
import Testing

@Suite("Stores and their mounts", .timeLimit(.minutes(2)))
struct MountedStoresTests {
  @Test(
    "a mount under another name is its own store's, also where the name is another store's path",
    .enabled(if: MountedStore.isPossible), arguments: ["other-words", "$PWD/other", "/"])
  func named(_ name: String) throws {
    let tool = try Tool()
    let result = try tool.run(
      """
      mkdir m o && llvs init other -q && llvs mount other o && trap 'llvs unmount m; llvs unmount o' EXIT
      echo secret > o/its && llvs commit --mount o
      llvs mount s m -o "fsname=\(name)" && cd m && echo one > mine && llvs commit >/dev/null && cd ..
      echo "[$(llvs diff at/-1d head --mount m --name-status 2>&1; llvs log --mount m --json | grep -c secret)]"
      llvs export head e --mount m -q; ls e
      llvs backup b --mount m -q; llvs export head f --store b -q; ls f
      echo two > m/mine; llvs status --store s | sed -n 2p; llvs undo --store s; cat m/mine
      echo three > m/mine; llvs unmount m; echo $?
      llvs export head g --store s -q; cat g/mine
      trap 'llvs unmount o' EXIT
      """)
    #expect(result.status == 0, "\(result.output)")
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0 == "mine" }.count == 2, "\(result.output)")
    #expect(!lines.dropFirst(2).contains { $0.contains("its") }, "\(result.output)")
    #expect(
      Array(lines.suffix(4)) == ["m is unmounted", "0", "three", "o is unmounted"],
      "\(result.output)")
  }

  @Test(
    "a peer that is a mount point, or a link to one, is away while it is not mounted",
    .enabled(if: MountedStore.isPossible), arguments: ["m", "l"])
  func unmounted(path: String) throws {
    let result = try Tool().run(
      """
      mkdir m n && ln -s m l && llvs init s -q; llvs init other -q && llvs mount other m -q; llvs mount t n -q
      llvs peer m "$PWD/\(path)" -q --store s; llvs peer m "$PWD/\(path)" -q --mount n; llvs unmount m -q
      echo 1 > n/a; llvs sync m --mount n 2>&1 | grep -c 'is not mounted'; llvs unmount n -q
      mkdir d; echo 1 > d/a; llvs import d --store s -q
      llvs sync m --store s 2>&1 | grep -c 'is not mounted'; find m
      llvs peer m --reset -q --store s; llvs sync m --store s -q; echo $?; ls m
      """)
    #expect(result.output == "1\n1\nm\n0\nbundles\n", "\(result.output)")
  }

  @Test(
    "what fstab lists is taken, and the daemon is called as the program is",
    .enabled(if: MountedStore.isPossible))
  func listed() throws {
    let result = try Tool().run(
      """
      mkdir m; llvs mount s m -o defaults,relatime,nofail,x-systemd.automount -q
      cat "/proc/$(head -n 1 s/lock)/comm"; llvs unmount m
      """)
    #expect(result.output == "llvs\nm is unmounted\n", "\(result.output)")
  }

  @Test(
    "a mount whose directory a daemon was started in can be unmounted",
    .enabled(if: MountedStore.isPossible))
  func startedInside() throws {
    let result = try Tool().run(
      """
      mkdir m o; llvs mount s m -q; (cd m; llvs mount ../t ../o -q)
      readlink "/proc/$(head -n 1 t/lock)/cwd"
      llvs unmount m; llvs unmount o
      """)
    #expect(result.output == "/\nm is unmounted\no is unmounted\n", "\(result.output)")
  }
}
