import Foundation
import TestSupport
import Testing

/// Credentials, directions and limits of peers.
@Suite("settings of peers", .timeLimit(.minutes(3)))
struct PeerOptionTests {
  @Test("--login keeps credentials where their owner alone may read them, and shows none")
  func login() throws {
    let result = try Tool().run(
      """
      llvs init s -q; llvs peer cloud s3+http://127.0.0.1:1/bucket/x -q --store s 2> /dev/null
      printf 'KEY\\nSECRET\\n' | llvs peer cloud --login --store s 2> /dev/null | sed 's/in .*//'
      stat -c '%a' s/secrets/cloud s/secrets; cat s/secrets/cloud
      llvs status --store s --json | grep -c SECRET
      printf 'KEY\\n' | llvs peer cloud --login --store s 2>&1; cat s/secrets/cloud
      mkdir hub; llvs peer hub ./hub -q --store s; llvs peer hub --login --store s 2>&1
      llvs backup b --store s -q; ls b/secrets 2>/dev/null
      llvs peer cloud rm --store s -q; ls s/secrets
      """)
    let file = "access_key=KEY\nsecret_key=SECRET\n"
    #expect(
      result.output == "the credentials of cloud are kept \n600\n700\n\(file)0\n"
        + "llvs: the secret key is missing, and nothing is changed.\n\(file)"
        + "llvs: hub is no server, and needs no credentials.\n", "\(result.output)")
  }

  @Test("--encrypt --login asks for the credentials before the server is asked for keys")
  func loginToEncrypt() throws {
    let result = try Tool().run(
      """
      llvs init s -q; echo four random words > words; export LLVS_PASSPHRASE_FILE=$PWD/words
      printf 'KEY\\nSECRET\\n' | llvs peer cloud s3+http://127.0.0.1:1/bucket/x -q --encrypt --login --store s 2>&1 \
        | grep -o 'there are no keys\\|127.0.0.1' | sort -u
      cat s/secrets/cloud
      """)
    #expect(
      result.output == "127.0.0.1\naccess_key=KEY\nsecret_key=SECRET\n", "\(result.output)")
  }

  @Test("a peer that only gets gives nothing, and one that only gives gets nothing")
  func directions() throws {
    let result = try Tool().run(
      """
      mkdir d hub; echo 1 > d/a
      for s in s t; do llvs init $s -q; llvs peer hub ./hub -q --store $s; done
      llvs import d --store s -q; llvs sync --store s -q; llvs sync --store t -q
      echo 2 > d/a; llvs import d --store s -q; echo 3 > d/b; llvs import d --store t -q
      llvs peer hub --retrieve-only --store s; llvs sync --store s
      llvs send hub --store s 2>&1; echo $?; llvs status --store s | tail -1 | cut -d: -f2 | cut -c1-14
      llvs peer hub --send-only --store t -q; llvs sync --store t
      llvs set hub.direction= --store s; llvs sync --store s
      """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 12, "\(result.output)")
    #expect(
      lines[...2] == ["hub.direction=retrieve-only", "No changes here", "hub: received nothing"])
    #expect(lines[3].hasPrefix("llvs: hub is retrieve-only"))
    #expect(lines[4...5] == ["8", " retrieve-only"])
    #expect(lines[6...7] == ["No changes here", "hub: sent 1 version"])
    #expect(lines[8...9] == ["hub.direction=both", "No changes here"])
    #expect(lines[10] == "hub: received 1 version, sent 2 versions")
    #expect(lines[11].hasSuffix(" merged 2 heads, 1 change"))
  }

  @Test("a limit holds, settings of peers are listed and checked, and go with the peer")
  func limit() throws {
    let result = try Tool().run(
      """
      mkdir d hub; head -c 1500000 /dev/urandom > d/a; llvs init s -q; llvs import d --store s -q
      llvs peer hub bundle+$PWD/hub -q --store s; llvs set hub.limit=1M --store s
      start=$(date +%s%N); llvs send --store s -q; took=$(( ($(date +%s%N) - start) / 1000000 ))
      [ $took -gt 350 ] && echo slow || echo "fast $took"
      llvs set --store s | grep hub | tr -s ' '; llvs set hub.limit=x --store s 2>/dev/null; echo $?
      llvs set hub.color=red --store s 2>&1; llvs set none.limit=1M --store s 2>&1
      llvs set hub.limit hub.remove --store s | tr -s ' '; llvs set none.limit --store s 2>&1
      llvs peer hub rm --store s -q; llvs set --store s | grep -c hub
      """)
    #expect(
      result.output
        == """
        hub.limit=1M
        slow
        hub.limit=1M (set here)
        2
        llvs: unknown setting of a peer "color"; they are: encrypt, remove, direction, limit.
        llvs: there is no peer none.
        hub.limit=1M (set here)
        hub.remove=on (default)
        llvs: there is no peer none.
        0

        """, "\(result.output)")
  }
}
