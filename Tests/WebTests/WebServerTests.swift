import Foundation
import TestSupport
import Testing

/// The program is asked over HTTP as a browser asks it, and as others do.
@Suite("llvs web", .timeLimit(.minutes(3)))
struct WebServerTests {
  @Test("Nobody but the page gets an answer, and every answer says how little it may do")
  func guarded() throws {
    let server = try PageServer(SampleScript.plain)
    defer { server.end() }
    #expect(server.address.hasPrefix("http://127.0.0.1:"))
    let codes = try server.run(
      #"""
      code() { curl -s -o /dev/null -w '%{http_code} ' "$@"; }
      code "$address"; code "$origin/"; code "${address%?}x/"; code -H 'Host: evil.example' "$address"
      code -H 'Origin: http://evil.example' "${address}api/state"
      code -H 'Sec-Fetch-Site: cross-site' "$address"; code -X PUT "$address"
      code -d command=undo "${address}api/run"; code -d x -H "Origin: $origin" "$address"
      code -H "Origin: $origin" -H 'Content-Type: text/plain' -d command=undo "${address}api/run"
      code "${address}page/none.js"; code "${address}api/none"; code "${address}page/../api/state"
      """#)
    #expect(codes == "200 403 403 403 403 403 405 403 405 400 404 404 200 ", "\(codes)")
    let heads = try server.run(
      "for place in '' page/main.js api/state 'raw?v=head&p=page.html' none; do get \"$place\" -o /dev/null -D -; done"
    ).lowercased()
    for field in [
      "x-content-type-options: nosniff", "referrer-policy: no-referrer",
      "cross-origin-resource-policy: same-origin", "x-frame-options: deny",
      "content-security-policy: ",
    ] {
      #expect(heads.components(separatedBy: field).count == 6, "\(field)\n\(heads)")
    }
    #expect(!heads.contains("access-control-allow"))
    let listeners = try server.run(
      "port=${origin##*:}; grep -i \" 00000000:$(printf %04X $port) \" /proc/net/tcp")
    #expect(listeners == "", "it listens on more than the loopback address: \(listeners)")
  }

  @Test("What takes room is told by use, by file and by month")
  func space() throws {
    let server = try PageServer(SampleScript.plain)
    defer { server.end() }
    let text = try server.run("get api/space")
    for part in [
      #""meaning":"files of the newest version""#, #""paths":[{"path":"#, #""months":[{"month":"2"#,
    ] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(try server.run("get page/space.js").contains("spaceView"))
  }

  @Test("A value is sent as what its bytes are, and what could be a page is saved")
  func values() throws {
    let server = try PageServer(SampleScript.plain)
    defer { server.end() }
    func head(_ path: String) throws -> String {
      try server.run("get 'raw?v=head&p=\(path)' -o /dev/null -D -").lowercased()
    }
    let page = try head("page.html")
    #expect(page.contains("content-type: text/plain; charset=utf-8"))
    #expect(page.contains("content-security-policy: sandbox; default-src 'none'"))
    let drawing = try head("sub/pic.svg")
    #expect(drawing.contains("image/svg+xml") && drawing.contains("attachment"))
    #expect(drawing.contains("content-security-policy: sandbox; default-src 'none'"))
    #expect(try head("dot.png").contains("content-type: image/png"))
    let bytes = try head("bin")
    #expect(bytes.contains("application/octet-stream") && bytes.contains("attachment"))
    #expect(try head("odd%FFname").contains("filename*=utf-8''odd%ffname"))
    let parts = try server.run(
      #"""
      get 'raw?v=head&p=notes.txt' -r 4-6; echo; get 'raw?v=v1&p=notes.txt' -r 4-6; echo
      get 'raw?v=head&p=notes.txt' -r -5; get 'raw?v=head&p=notes.txt' -r 100- -o /dev/null -w '%{http_code}\n'
      get 'raw?v=head&p=long' | cmp - d/long && echo equal; get 'raw?v=head&p=long' -I | grep -i length
      get 'raw?v=head&p=none'; get 'raw?v=none&p=bin'; get 'raw?v=head&p=/bin'; get 'raw?p=bin'
      """#)
    #expect(parts.hasPrefix("TWO\ntwo\nfour\n416\nequal\nContent-Length: 13893"), "\(parts)")
    let kinds = parts.matches(of: #/"error":"([a-zA-Z]+)"/#).map { String($0.1) }
    #expect(kinds == ["notFound", "notFound", "grammar", "grammar"], "\(parts)")
  }

  @Test("Versions, trees, files, histories and differences are told")
  func reading() throws {
    let server = try PageServer(SampleScript.plain)
    defer { server.end() }
    let list = try server.json("api/versions?from=0&count=10")
    let rows = try #require(list["rows"] as? [[String: Any]])
    #expect(list["total"] as? Int == 2 && list["complete"] as? Bool == true)
    #expect(rows.map { $0["message"] as? String } == ["second", "first"])
    #expect(rows[0]["isHead"] as? Bool == true && rows[1]["tags"] as? [String] == ["v1"])
    #expect(rows[0]["author"] as? String == "Ann" && rows[0]["machine"] as? String == "desk")
    #expect(try server.json("api/index?v=v1")["index"] as? Int == 1)
    let version = try server.json("api/version?v=head")
    let changed = try #require(version["changed"] as? [[String: Any]])
    #expect(changed.map { $0["path"] as? String } == ["notes.txt"])
    let tree = try server.json("api/tree?v=v1")
    let names = try #require(tree["names"] as? [[String: Any]])
    #expect(names.first?["name"] as? String == "sub" && names.count == 7)
    #expect(names.contains { $0["nameBase64"] as? String == "b2Rk/25hbWU=" })
    #expect(try server.json("api/file?v=head&p=sub")["kind"] as? String == "directory")
    #expect(try server.json("api/file?v=v1&p=notes.txt")["text"] as? String == "one\ntwo\nthree\n")
    #expect(try server.json("api/file?v=v1&p=odd%FFname")["text"] as? String == "x")
    #expect(try server.json("api/file?v=v1&p=bin")["type"] as? String == "binary")
    #expect(try server.json("api/file?v=v1&p=dot.png")["type"] as? String == "image")
    let history = try server.json("api/history?v=head&p=notes.txt")
    #expect((history["revisions"] as? [Any])?.count == 2)
    let difference = try server.json("api/difference?v=head&p=notes.txt")
    let parts = try #require(difference["parts"] as? [[String: Any]])
    #expect(parts.map { $0["kind"] as? String } == ["same", "change", "same", "change"])
    #expect(parts[1]["old"] as? [String] == ["two"] && parts[1]["new"] as? [String] == ["TWO"])
    let found = try server.json("api/find?message=SECO&author=ann&p=notes.txt")
    #expect((found["rows"] as? [[String: Any]])?.map { $0["message"] as? String } == ["second"])
    let other = try server.json("api/find?message=sec.nd")
    #expect((other["rows"] as? [Any])?.isEmpty == true && other["isWhole"] as? Bool == true)
    let undone = try server.json("api/undo")["change"] as? [String: Any]
    #expect(undone?["message"] as? String == "second")
    #expect(try server.json("api/undo?redo=1")["change"] is NSNull)
    let first = try server.json("api/difference?v=v1&p=long")
    #expect(first["old"] is NSNull && first["outcome"] as? String == "text")
  }

  @Test("The page restores, undoes and makes versions, one command at a time")
  func commands() throws {
    let server = try PageServer(SampleScript.plain)
    defer { server.end() }
    let said = try server.run(
      #"""
      task 'command=restore&version=v1&path=notes.txt'; llvs show head:notes.txt $at
      task 'command=undo'; llvs show head:notes.txt $at | head -n 2
      task 'command=redo'; llvs show head:notes.txt $at | head -n 2
      task 'command=restore&version=none'
      post api/run 'command=set&on-sync=sh'; echo
      """#)
    #expect(
      said.hasPrefix("true\none\ntwo\nthree\ntrue\none\nTWO\ntrue\none\ntwo\nfalse\n"), "\(said)")
    #expect(said.contains("\"error\":\"grammar\""), "\(said)")
    #expect(server.end() == 0)
  }

  @Test("With --read-only nothing can be changed")
  func readOnly() throws {
    let server = try PageServer(SampleScript.plain, options: ["--read-only"])
    defer { server.end() }
    #expect(try server.json("api/state")["isReadOnly"] as? Bool == true)
    let said = try server.run(
      "post api/run command=undo; post api/cancel ''; llvs log --oneline $at | wc -l")
    #expect(said.components(separatedBy: "\"error\":\"readOnly\"").count == 3, "\(said)")
    #expect(said.hasSuffix("2\n"), "\(said)")
  }

  @Test(
    "The progress of a sync of a mounted store is told, and the sync can be cancelled",
    .enabled(if: MountedStore.isPossible))
  func followed() throws {
    let server = try PageServer(
      """
      mkdir m hub; llvs mount s m -q; llvs peer hub "$PWD/hub" --store s -q
      mkdir m/d; head -c 150M /dev/urandom | (cd m/d; split -b 100k -a 4 -)
      """)
    defer {
      _ = try? server.run("llvs unmount --force m")
      server.end()
    }
    let said = try server.run(
      #"""
      post api/run command=sync >/dev/null
      for _ in $(seq 300); do get api/state | grep -q '"what":"[^"]' && break; sleep 0.03; done
      llvs status --store s --json | grep -o '"running":...command":"[a-z]*"'
      post api/cancel '' >/dev/null
      for _ in $(seq 300); do get api/state | grep -q '"running":null' && break; sleep 0.03; done
      get api/state | grep -o '"isDone":[a-z]*'; get api/state | grep -o '"error":"[a-z]*"'
      llvs status --store s --json | grep -o '"running":...'
      """#)
    #expect(
      said == """
        "running":[{"command":"sync"
        "isDone":false
        "error":"interrupted"
        "running":[],

        """, "\(said)")
  }

  @Test("A conflict is settled as it was seen, with a side or with a text")
  func conflicts() throws {
    let server = try PageServer(SampleScript.conflict)
    defer { server.end() }
    #expect(try server.json("api/state")["conflicts"] as? Int == 1)
    let conflict = try server.json("api/conflict?p=list")
    let sides = try #require(conflict["sides"] as? [[String: Any]])
    #expect(sides.map { $0["name"] as? String } == ["base", "ours", "theirs"])
    #expect(Set(sides.compactMap { $0["author"] as? String }) == ["Ann", "Bob"])
    #expect(sides[0]["text"] as? String == "milk\nbread\ncheese\n")
    // Only the line that both changed is a choice.
    let difference = try #require(conflict["difference"] as? [String: Any])
    let parts = try #require(difference["parts"] as? [[String: Any]])
    #expect(parts.filter { $0["kind"] as? String == "change" }.map { $0["newLine"] as? Int } == [2])
    #expect(conflict["others"] as? Int == 1)
    let seen = try #require(conflict["seen"] as? String)
    let said = try server.run(
      #"""
      get 'side?side=base&p=list'
      task 'command=settle-text&path=list&text=milk%0Aboth%0A&seen=other'
      task 'command=settle-text&path=list&text=milk%0Aboth%0A&seen=\#(seen)'
      llvs show head:list $at; llvs conflicts $at
      task command=undo; llvs conflicts $at | wc -l
      task 'command=settle&path=list&side=base&seen=\#(seen)'; llvs show head:list $at | head -n 2
      """#)
    #expect(
      said
        == "milk\nbread\ncheese\nfalse\ntrue\nmilk\nboth\nno conflicts\ntrue\n1\ntrue\nmilk\nbread\n",
      "\(said)")
  }

  @Test("A mounted store is changed through its daemon", .enabled(if: MountedStore.isPossible))
  func mounted() throws {
    let server = try PageServer(
      SampleScript.conflict + "\nmkdir m; llvs mount s m -q")
    defer { server.end() }
    defer { _ = try? server.run("llvs unmount m -q") }
    #expect((try server.json("api/state")["mountPoint"] as? String)?.hasSuffix("/m") == true)
    #expect(try server.json("api/status")["conflicts"] as? Int == 1)
    let seen = try #require(try server.json("api/conflict?p=list")["seen"] as? String)
    let said = try server.run(
      #"""
      task 'command=settle-text&path=list&text=milk%0Aboth%0A&seen=\#(seen)'; cat m/list
      echo new > m/new; get api/pending | grep -o '"pending":[^]]*'; task 'command=commit&message=by+hand'; llvs log -1 $at | grep hand
      task command=sync; ls m; task command=undo; ls m
      """#)
    #expect(
      said.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } == [
        "true", "milk", "both", #""pending":["+ new""#, "true", "by hand", "true", "list", "new",
        "true", "list",
      ], "\(said)")
  }
}
