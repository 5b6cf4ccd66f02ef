import Foundation
import TestSupport
import Testing

/// Another user, who is let in with `allow_other`, reads what the modes let him read.
@Suite(
  "Users who did not mount", .timeLimit(.minutes(3)),
  .enabled(if: MountedStore.isPossible && getuid() == 0))
struct GuestTests {
  /// A store that root mounts, with a directory that is closed to others; `as` runs as nobody.
  private static let setup = #"""
    chmod 755 .; mkdir m bin; cp "$(type -P true)" bin/true
    llvs mount s m -o allow_other -q && trap 'cd /; llvs unmount "$here/m" -q' EXIT; here=$PWD
    chmod 755 m; mkdir m/pub m/closed; printf 'one\ntwo\n' > m/pub/a; echo secret > m/closed/b; chmod 700 m/closed
    llvs commit -q --mount m; llvs tag first -q --mount m; printf 'one\nTWO\n' > m/pub/a; llvs commit -q --mount m
    as() { (cd m; su nobody -s /bin/bash -c "$1" 2>&1); }
    names() {
      sed "s/$(readlink m/.llvs/tags/first | sed 's,.*/,,')/FIRST/g; s/$(readlink m/.llvs/head | sed 's,.*/,,')/HEAD/g"
    }
    """#

  private func run(_ script: String) throws -> ShellResult {
    let tool = try Tool()
    // The program of the tests may be in a directory that others cannot search.
    let copy = "/tmp/llvs-guest-\(UUID().uuidString)"
    try FileManager.default.copyItem(atPath: MountedStore.program, toPath: copy)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    return try tool.run("\(Self.setup)\nguest=\(copy)\n\(script)")
  }

  @Test("verbs that only read show what the modes allow, and no more")
  func reading() throws {
    let result = try run(
      #"""
      {
        as "$guest log" | sed 's/  20.*//' | names | grep -v 'version 20'; as "$guest log pub/a --json | wc -l"; as "$guest tag"
        as "$guest show first:pub/a"; as "$guest show first:closed/b" | sed "s,$PWD,.,"
        as "$guest history pub/a"; as "$guest diff first -U0 2>/dev/null | tail -n 3"
        as "$guest diff first head --name-status 2>/dev/null"; as "$guest diff first head --name-only >/dev/null"
        as "$guest grep -i 'two|secret'"; as "$guest blame pub/a"; as "$guest blame closed/b; echo \$?" | sed "s,$PWD,.,"
        as "$guest status"; as "$guest status --json"
      } | names
      """#)
    #expect(
      result.output == """
        version HEAD
        version FIRST
        2
        first  FIRST
        one
        two
        llvs: you may not read ./m/.llvs/versions/FIRST/closed/b.
        HEAD  8 bytes
        FIRST  8 bytes
        @@ -2 +2 @@ one
        -two
        +TWO
        * pub/a
        llvs: closed is left out: you may not read it.
        HEAD:pub/a:2:TWO
        FIRST:pub/a:2:two
        FIRST 1 one
        HEAD 2 TWO
        llvs: you may not read ./m/.llvs/history/closed/b.
        8
        At HEAD.
        only root, who mounted it, can use everything else; you can read .llvs/versions and .llvs/history.
        {"ok":true,"head":"HEAD"}

        """, "\(result.output)")
  }

  @Test(
    "verbs that change something, or tell of the whole tree, are the mounter's",
    arguments: [
      "commit", "sync", "restore first", "undo", "conflicts", "verify", "space", "events", "peer",
      "tag x", "branch x", "show", "export first /tmp/nowhere",
    ])
  func refused(_ words: String) throws {
    let result = try run(#"as "$guest \#(words); echo \$?""#)
    let lines = result.output.split(separator: "\n")
    #expect(
      lines.count == 2 && lines[0].hasPrefix("llvs: only root, who mounted it, can use ")
        && lines[1] == "8", "\(words): \(result.output)")
  }
}
