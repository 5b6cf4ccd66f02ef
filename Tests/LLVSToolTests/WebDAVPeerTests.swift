import Foundation
import TestSupport
import Testing

/// A folder of a WebDAV server as a peer.
@Suite("a WebDAV peer", .timeLimit(.minutes(2)))
struct WebDAVPeerTests {
  private static let isPossible = FileManager.default.isExecutableFile(atPath: "/usr/bin/rclone")

  @Test(
    "a folder that is not there is made once, and one that is gone later is away",
    .enabled(if: isPossible))
  func missingFolder() throws {
    let result = try Tool().run(
      """
      mkdir d served; echo 1 > d/a; llvs init s -q; llvs import d --store s -q
      port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
      rclone serve webdav served --addr 127.0.0.1:$port --dir-cache-time 0 2> /dev/null & server=$!
      trap 'kill $server' EXIT
      for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break; sleep 0.1; done
      llvs peer far http+webdav://127.0.0.1:$port/deep/er/notes -q --store s; llvs sync --store s
      ls served/deep/er/notes; llvs clone http+webdav://127.0.0.1:$port/deep/er/notes t -q
      llvs export head out --store t -q; cat out/a
      rm -r served/deep; llvs sync --store s; ls served; llvs sync far --store s -q 2> /dev/null; echo $?
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 7, "\(result.output)")
    #expect(lines[...1] == ["No changes here", "far: received nothing, sent 1 version"])
    #expect(lines[2...3] == ["bundles", "1"])
    #expect(lines[5].hasPrefix("far is away: "), "\(lines[5])")
    #expect(lines[6] == "4")
  }

  @Test(
    "an encrypted peer's folder that is not there is made with its login in one command",
    .enabled(if: isPossible))
  func missingEncryptedFolder() throws {
    let result = try Tool().run(
      """
      mkdir served; llvs init s -q; echo four random words here > words
      port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
      rclone serve webdav served --addr 127.0.0.1:$port --user ann --pass words --dir-cache-time 0 2> /dev/null &
      server=$!; trap 'kill $server' EXIT
      for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break; sleep 0.1; done
      export LLVS_PASSPHRASE_FILE=$PWD/words
      at="http+webdav://127.0.0.1:$port/deep/er/notes"
      printf 'ann\nwords\n' | llvs peer far $at --encrypt --login --light --store s -q; echo $?
      ls served/deep/er/notes; ls served/deep/er/notes/keys | wc -l; llvs sync far --store s
      """)
    #expect(
      result.output == """
        0
        keys
        1
        No changes here
        far: received nothing, sent nothing

        """, "\(result.output)")
  }

  @Test("credentials are tried, and wrong ones are not kept", .enabled(if: isPossible))
  func credentials() throws {
    let result = try Tool().run(
      """
      mkdir served; llvs init s -q
      port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
      rclone serve webdav served --addr 127.0.0.1:$port --user ann --pass words 2> /dev/null & server=$!
      trap 'kill $server' EXIT
      for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break; sleep 0.1; done
      at="http+webdav://127.0.0.1:$port/notes"
      printf 'ann\\nother\\n' | llvs peer far $at --login --store s 2> err; echo $?
      grep -c 'not kept.*llvs peer far --login' err; ls s/secrets; llvs peer --store s
      printf 'ann\\nwords\\n' | llvs peer far $at --login --store s | sed 's/kept in .*/kept/; s/:[0-9][0-9]*//'
      printf 'ann\\nother\\n' | llvs peer far --login --store s -q 2> /dev/null; echo $?; cat s/secrets/far
      """)
    #expect(
      result.output == """
        8
        1
        the credentials of far are kept
        far is http+webdav://127.0.0.1/notes, which is empty
        8
        user=ann
        password=words

        """, "\(result.output)")
  }

  /// An exchange folder as the original wrote it.
  private static let original = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
    .appendingPathComponent("LLVSExchangeTests/Resources/llvs/linear/exchange").path

  @Test(
    "a folder that a program of the original wrote is read, and gets our versions in its files",
    .enabled(if: isPossible))
  func filesOfTheOriginal() throws {
    let result = try Tool().run(
      """
      mkdir served; cp -r '\(Self.original)' served/notes
      port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
      rclone serve webdav served --addr 127.0.0.1:$port --dir-cache-time 0 2> /dev/null & server=$!
      trap 'kill $server' EXIT
      for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2> /dev/null && break; sleep 0.1; done
      llvs clone http+webdav://127.0.0.1:$port/notes s -q; llvs export head got --store s -q
      llvs clone served/notes plain -q; llvs export head there --store plain -q
      diff -r got there && ls got | wc -l
      echo ours > got/apple-0; llvs import got --store s -q; llvs sync --store s
      ls served/notes/versions | wc -l; ls served/notes/changes | wc -l
      llvs sync --store plain -q; llvs export head later --store plain -q; cat later/apple-0
      """)
    let before = try FileManager.default.contentsOfDirectory(atPath: "\(Self.original)/versions")
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 6, "\(result.output)")
    #expect(Int(lines[0]) ?? 0 > 2, "\(lines[0])")
    #expect(lines[2] == "origin: received nothing, sent 1 version")
    #expect(lines[3...4] == ["\(before.count + 1)", "\(before.count + 1)"])
    #expect(lines[5] == "ours")
  }
}
