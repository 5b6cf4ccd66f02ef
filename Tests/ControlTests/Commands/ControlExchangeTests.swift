import Grammar
import LLVSCore
import LLVSExchange
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport

@Suite("Commands that exchange", .timeLimit(.minutes(2)))
struct ControlExchangeTests {
  func pair(_ form: String = "") throws -> (ControlWorkspace, ControlWorkspace, String) {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let folder = a.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    for space in [a, b] {
      try space.service.setPeer("usb", address: Array("\(form)\(folder)\n".utf8))
    }
    return (a, b, folder)
  }

  @Test("two stores that sync through a folder show the same")
  func folder() throws {
    let (a, b, _) = try pair()
    try a.write("a", "from a")
    try a.run("sync usb")
    try b.run("sync")
    #expect(try b.read("a") == "from a")
    try b.write("b", "from b")
    try a.write("c", "from a")
    try b.run("sync")
    try a.run("sync")
    try b.run("sync")
    #expect(try a.read("b") == "from b")
    #expect(try b.read("c") == "from a")
    #expect(try a.head == b.head)
    #expect(try a.service.version("head").map.digest == b.service.version("head").map.digest)
    #expect(try a.run("verify usb").text.contains("no damage found"))
    #expect(try a.service.status().text.contains("usb       ok "))
  }

  @Test("an empty folder gets bundles, and the original's files if the address asks for them")
  func formOfEmptyFolder() throws {
    for (form, names) in [("", ["bundles"]), ("plain+", ["changes", "versions"])] {
      let (a, b, folder) = try pair(form)
      try a.write("a", "from a")
      try a.run("sync")
      #expect(try FileSystem.list(folder).sorted() == names)
      // The form that is there stays, also for a store that names none.
      try b.service.setPeer("usb", address: Array(folder.utf8))
      try b.write("b", "from b")
      #expect(try b.failure("sync") == .unrelated)
      try b.run("send")
      #expect(try FileSystem.list(folder).sorted() == names)
      for other in ["bundle+", "plain+"] {
        try a.service.setPeer("other", address: Array("\(other)\(b.store.path)".utf8))
        #expect(try a.failure("send other") == .grammar)
      }
    }
  }

  @Test("a folder of bundles carries the same, and one that holds both kinds leaves nobody out")
  func bundles() throws {
    let (a, b, folder) = try pair()
    try a.service.setPeer("usb", address: Array("bundle+file://\(folder)\n".utf8))
    try a.write("a", "from a")
    try a.run("sync")
    #expect(try FileSystem.list(folder) == ["bundles"])
    // What is there is recognised.
    try b.run("sync")
    #expect(try b.read("a") == "from a")
    #expect(try FileSystem.list(folder) == ["bundles"])
    #expect(try a.run("verify usb").text.contains("no damage found"))
    // Somebody who knows the original's format only.
    let stranger = try Store.open(
      path: a.directory.file("stranger"), mode: .writer, create: true)
    try stranger.makeVersion(basedOnPredecessor: nil, storing: [])
    try FolderFormat.files.send(stranger, folder)
    try b.write("b", "from b")
    try b.run("sync")
    try a.run("sync")
    #expect(try a.read("b") == "from b")
    try a.write("a", "again")
    try a.run("sync")
    try FolderFormat.files.retrieve(into: stranger, folder)
    let head = try #require(try a.store.state().head)
    let id = try a.store.id(of: head)
    #expect(try stranger.value(id: Value.ID("a"), at: id)?.data == Array("again".utf8))
    #expect(try stranger.version(id)?.map.digest == a.store.version(id)?.map.digest)
    #expect(throws: ControlError.self) {
      try a.service.setPeer("usb", address: Array("bundle+relative".utf8))
    }
  }

  @Test("verify names what is damaged, cut or gone in a peer's folder", arguments: [false, true])
  func verifyFolder(isBundled: Bool) throws {
    let (a, _, folder) = try pair()
    try a.service.setPeer(
      "usb", address: Array("\(isBundled ? "" : "plain+")\(folder)".utf8))
    let directory = "\(folder)/\(isBundled ? "bundles" : "changes")"
    var files: [String] = []
    for name in ["one", "two", "three", "four"] {
      try a.write(name, String(repeating: name, count: 2000))
      try a.run("sync")
      files += try FileSystem.list(directory).filter { !files.contains($0) }
    }
    #expect(files.count == 4)
    #expect(
      try a.run("verify usb").text.contains(
        "no damage found in 4 versions; 4 of them the same here"))
    func faults() throws -> String {
      do {
        try a.run("verify usb")
        return ""
      } catch let error as ControlError {
        #expect(error.kind == .damaged)
        return error.message
      }
    }
    let second = try File("\(directory)/\(files[1])", .readWrite)
    let at = try second.status().size / 2
    let byte = try second.read(1, at: at)
    try second.write([byte[0] ^ 1], at: at)
    var told = try faults()
    #expect(told.contains(files[1]), "\(told)")
    try second.write(byte, at: at)
    let third = try File("\(directory)/\(files[2])", .readWrite)
    let bytes = try third.read(1 << 20, at: 0)
    try third.truncate(to: UInt64(bytes.count / 2))
    told = try faults()
    #expect(told.contains(files[2]), "\(told)")
    try third.write(bytes, at: 0)
    #expect(try faults().isEmpty)
    // What is gone is told though what is left could be read with what is here; the next sync mends it.
    for name in [files[0], files[3]] {
      try FileSystem.unlink("\(directory)/\(name)")
      told = try faults()
      let what = isBundled ? "cannot be read there" : "changes/\(name)"
      #expect(told.contains(what), "\(told)")
      #expect(!told.contains("predecessor"), "\(told)")
      if isBundled { try a.run("sync") }
    }
    guard !isBundled else {
      #expect(try faults().isEmpty)
      return
    }
    for name in files { try FileSystem.unlink("\(folder)/versions/\(name)") }
    #expect(try faults().contains("4 versions cannot be read there"))
    try a.run("sync")
    #expect(try faults().isEmpty)
  }

  @Test("a peer of which something was refused is not shown as one that is well")
  func refusals() throws {
    let (a, b, folder) = try pair("plain+")
    try a.write("a", "from a")
    try a.run("sync")
    let stray = "\(folder)/versions/00000000-0000-4000-8000-000000000001"
    try FileSystem.replace(stray, with: Array("no version".utf8), permissions: 0o644)
    try b.run("sync")
    #expect(try b.read("a") == "from a")
    var status = try b.service.status()
    #expect(status.text.contains("usb       exchanged "), "\(status.text)")
    #expect(
      status.text.contains(
        "; INCOMPLETE there: 1 version cannot be read (versions/00000000-"), "\(status.text)")
    #expect(status.reply.json.contains("\"refused\":1"))
    // Sending says nothing of what is there.
    try b.run("send")
    #expect(try b.service.status().text.contains("; INCOMPLETE there: 1 version "))
    try FileSystem.unlink(stray)
    try b.run("sync")
    status = try b.service.status()
    #expect(status.text.contains("usb       ok ") && !status.text.contains("INCOMPLETE"))
    // What is there in part is waited for, and told too.
    let id = try a.store.id(of: try #require(try a.store.state().head))
    try a.write("a", "again")
    try a.run("sync")
    let next = try a.store.id(of: try #require(try a.store.state().head))
    #expect(id != next)
    let changes = try FileSystem.read("\(folder)/changes/\(next.rawValue)", atMost: 1 << 20)
    try FileSystem.unlink("\(folder)/changes/\(next.rawValue)")
    try b.run("sync")
    #expect(try b.service.status().text.contains("; INCOMPLETE there: 1 version cannot be read"))
    try FileSystem.replace(
      "\(folder)/changes/\(next.rawValue)", with: changes, permissions: 0o644)
    try b.run("sync")
    #expect(try b.read("a") == "again")
    #expect(try !b.service.status().text.contains("INCOMPLETE"))
  }

  @Test("a clash is a result, and ours and theirs are as they say")
  func clash() throws {
    let (a, b, _) = try pair()
    try a.write("a", "base")
    try a.run("sync")
    try b.run("sync")
    try a.write("a", "of a")
    try b.write("a", "of b")
    try b.run("sync")
    try a.run("commit")
    try a.run("retrieve")
    #expect(try a.service.status().text.contains("(2 heads, 1 to merge)"))
    let dry = try a.run("merge --dry-run")
    #expect(dry.text.contains("would merge 2 heads"))
    #expect(try a.read("a") == "of a")
    let merged = try a.run("merge using theirs")
    #expect(merged.text.contains("1 clash settled: a"))
    #expect(try a.read("a") == "of b")
    // Who said which side to take has settled it, also for the other replica.
    #expect(try a.run("conflicts").text == "no conflicts")
    try a.run("send")
    try b.run("sync")
    #expect(try b.read("a") == "of b" && b.run("conflicts").text == "no conflicts")
    #expect(try a.run("merge").text.contains("nothing to merge"))
  }

  @Test("texts and JSON that both sides changed in different places become one, without conflict")
  func contents() throws {
    let (a, b, _) = try pair()
    try a.write("a", "one\ntwo\nthree\n")
    try a.write("b.json", "{\"x\": 1, \"y\": 2}\n")
    try a.write("c.keep", "one\ntwo\nthree\n")
    try a.run("sync")
    try b.run("sync")
    for space in [a, b] { try space.run("set arbiter=*.keep:keep-both") }
    try a.write("a", "ONE\ntwo\nthree\n")
    try a.write("b.json", "{\"x\": 10, \"y\": 2}\n")
    try a.write("c.keep", "ONE\ntwo\nthree\n")
    try b.write("a", "one\ntwo\nTHREE\n")
    try b.write("b.json", "{\"x\": 1, \"y\": 20}\n")
    try b.write("c.keep", "one\ntwo\nTHREE\n")
    try a.run("sync")
    try b.run("commit")
    // Both merge by themselves, to the same version.
    try FolderFormat.files.send(b.store, a.directory.file("folder"))
    try a.run("retrieve")
    let merged = try a.run("merge")
    #expect(merged.text.contains("1 conflict: c.keep"))
    try b.run("retrieve")
    try b.run("merge")
    #expect(try a.head == b.head)
    #expect(try b.read("a") == "ONE\ntwo\nTHREE\n")
    #expect(try b.read("b.json") == "{\"x\": 10, \"y\": 20}\n")
    #expect(try b.read("c.keep") == "one\ntwo\nTHREE\n")
    for space in [a, b] {
      let head = try #require(try space.store.state().head)
      let open = try space.store.openConflicts(at: head)
      #expect(open.map(\.key) == [Key("c.keep")])
    }
    #expect(try a.service.status().text.contains("conflicts 1"))
  }

  @Test("the setting and the command union keep the lines of both sides, and list nothing")
  func union() throws {
    let (a, b, _) = try pair()
    try a.write("log.md", "x\n")
    try a.write("other", "x\n")
    try a.run("sync")
    try b.run("sync")
    for space in [a, b] { try space.run("set arbiter=*.md:union") }
    #expect(try a.run("set arbiter").text.hasPrefix("arbiter=*.md:union"))
    try a.write("log.md", "of a\n")
    try a.write("other", "of a\n")
    try a.run("sync")
    try b.write("log.md", "of b\n")
    try b.write("other", "of b\n")
    try b.run("commit")
    let merged = try b.run("sync")
    #expect(merged.text.contains("1 conflict\nconflict: other (kept: "))
    try a.run("sync")
    for space in [a, b] { #expect(try space.read("log.md") == "of a\nof b\n") }
    try b.write("other", "again b\n")
    try b.run("sync")
    try a.write("other", "again a\n")
    try a.run("commit")
    #expect(try a.run("retrieve").text.hasSuffix(": received 1 version\n1 head to merge"))
    #expect(try a.read("other") == "again a\n")
    try a.run("merge using union")
    #expect(try a.read("other") == "again b\nagain a\n")
  }

  @Test(
    "a command of the settings merges files, and what it cannot merge is decided otherwise",
    arguments: [
      (#"cat "$1" "$3" >> "$2""#, true), ("exit 1", false), (#"echo no > "$2"; kill $$"#, false),
    ])
  func command(_ command: String, _ isMerged: Bool) throws {
    let (a, b, _) = try pair()
    try a.write("a", "base\n")
    try a.run("sync")
    try b.run("sync")
    try a.run("set 'arbiter=exec \(command)'")
    try a.write("a", "of a\n")
    try a.run("commit")
    try b.write("a", "of b\n")
    try b.run("sync")
    let reply = try a.run("sync")
    let text = try a.read("a")
    if isMerged {
      // Which side is the first goes by id.
      #expect(text == "of a\nbase\nof b\n" || text == "of b\nbase\nof a\n")
      #expect(!reply.text.contains("conflict"))
      #expect(try a.run("conflicts").text == "no conflicts")
    } else {
      #expect(text == "of b\n")
      #expect(try a.run("conflicts").text.hasPrefix("a: kept: "))
    }
    // No file of the command is left.
    #expect(try !FileSystem.list(a.store.path).contains { $0.hasPrefix("merge-") })
  }

  /// Two stores in which the same values clashed, one of them a removal.
  private func clashed() throws -> (ControlWorkspace, ControlWorkspace) {
    let (a, b, _) = try pair()
    for name in ["a", "b", "c"] { try a.write(name, "base") }
    try a.run("sync")
    try b.run("sync")
    for name in ["a", "b"] { try a.write(name, "of a") }
    try a.remove("c")
    for name in ["a", "b", "c"] { try b.write(name, "of b") }
    try a.run("sync")
    try b.run("sync")
    try a.run("sync")
    return (a, b)
  }

  @Test("settled anywhere is settled everywhere")
  func settle() throws {
    let (a, b) = try clashed()
    #expect(try a.read("a") == "of b")
    for space in [a, b] {
      let lines = try space.run("conflicts").text.split(separator: "\n")
      #expect(lines.map { String($0.prefix(9)) } == ["a: kept: ", "b: kept: ", "c: kept: "])
      #expect(lines.map { $0.hasSuffix(" (removed it)") } == [false, false, true])
      #expect(try space.service.status().text.contains("conflicts 3"))
    }
    #expect(try a.failure("settle d") == .notFound)
    #expect(try a.failure("settle a theirs.2") == .notFound)
    try a.run("settle a theirs")
    #expect(try a.read("a") == "of a")
    try a.run("settle c theirs")
    #expect(try a.read("c") == nil)
    #expect(try a.run("conflicts").text.hasPrefix("b: kept: "))
    #expect(try a.run("conflicts").text.split(separator: "\n").count == 1)
    try b.run("settle b ours")
    #expect(try b.read("b") == "of b")
    #expect(try b.run("conflicts b").text == "no conflicts")
    #expect(try b.failure("settle b") == .notFound)
    try a.run("sync")
    try b.run("sync")
    try a.run("sync")
    for space in [a, b] {
      #expect(try space.run("conflicts").text == "no conflicts")
      #expect(try space.read("a") == "of a")
      #expect(try space.read("c") == nil)
    }
    #expect(try a.head == b.head)
  }

  @Test("a conflict is settled by writing the file, by its base, and by any version's content")
  func settledOtherwise() throws {
    let (a, b) = try clashed()
    try a.write("a", "both")
    try a.run("commit")
    #expect(try a.run("conflicts a").text == "no conflicts")
    try a.run("settle b base")
    #expect(try a.read("b") == "base")
    let first = try a.store.versionsNewestFirst(before: nil, limit: 100).last
    try a.run("settle c \(try #require(first).name)")
    #expect(try a.read("c") == "base")
    #expect(try a.run("conflicts").text == "no conflicts")
    try a.run("sync")
    try b.run("sync")
    #expect(try b.run("conflicts").text == "no conflicts")
  }

  @Test("tags are exchanged, and the later of two of a name holds")
  func tags() throws {
    let (a, b, _) = try pair()
    try a.write("a", "one")
    try a.run("tag release")
    try a.run("sync")
    try b.run("sync")
    #expect(try a.head == b.head)
    #expect(try b.service.version("release").name == b.head)
    try b.write("a", "two")
    try b.run("tag --force release")
    try b.run("sync")
    try a.run("sync")
    for space in [a, b] {
      #expect(try space.service.version("release").name == b.head)
      #expect(try space.service.status().text.contains("(1 head)"))
    }
    #expect(try a.head == b.head)
  }

  @Test(
    "an unrelated history stays out, and this one here, until somebody says otherwise",
    arguments: ["plain+", "bundle+"])
  func unrelated(form: String) throws {
    let (a, b, folder) = try pair(form)
    let other = b.directory.file("other")
    try FileSystem.makeDirectory(other)
    try b.service.setPeer("own", address: Array("\(other)\n".utf8))
    try a.write("a", "of a")
    try a.run("sync")
    try b.write("b", "of b")
    let there = try FileSystem.list("\(folder)/\(form == "plain+" ? "versions" : "bundles")")
    for _ in 0..<2 {
      #expect(try b.failure("sync") == .unrelated)
      #expect(try b.read("a") == nil)
      #expect(try b.read("b") == "of b")
      // Nothing came here or went there, and a peer that is no stranger is served.
      #expect(b.store.lastNumber == 1)
      #expect(
        try FileSystem.list("\(folder)/\(form == "plain+" ? "versions" : "bundles")") == there)
      #expect(try FileSystem.list("\(other)/bundles").count == 1)
    }
    let status = try b.service.status().text
    let (id, name) = (try a.service.version("head").id.rawValue, try #require(try a.head))
    #expect(status.contains("usb       failed ") && status.contains("merge \(id) unrelated"))
    #expect(try b.failure("merge \(name) unrelated --dry-run") == .notFound)
    #expect(try b.failure("merge \(name)") == .unrelated)
    #expect(try b.failure("merge nothing unrelated") == .notFound)
    #expect(b.store.lastNumber == 1)
    try b.run("merge \(form == "plain+" ? name : id) unrelated")
    #expect(try b.read("a") == "of a")
    #expect(try b.read("b") == "of b")
    try b.run("sync")
    try a.run("sync")
    #expect(try a.head == b.head)
    #expect(try a.read("b") == "of b")
  }

  @Test("what was retrieved by that word is here though it is unrelated, and sync goes on as told")
  func retrievedStranger() throws {
    let (a, b, _) = try pair()
    try a.write("a", "of a")
    try a.run("sync")
    try b.write("b", "of b")
    try b.run("commit")
    try b.run("retrieve")
    #expect(b.store.lastNumber == 2)
    #expect(try b.failure("sync") == .unrelated)
    try b.run("merge \(try #require(try a.head)) unrelated")
    try b.run("sync")
    #expect(try b.read("a") == "of a")
  }

  @Test(
    "a folder of one history is none of a stranger, also where what came first is not there yet")
  func noStranger() throws {
    let (a, b, folder) = try pair("plain+")
    try a.write("a", "one")
    try a.run("sync")
    let first = try a.service.version("head").id.rawValue
    try a.write("a", "two")
    try a.run("sync")
    for kind in ["versions", "changes"] { try FileSystem.unlink("\(folder)/\(kind)/\(first)") }
    try b.write("b", "of b")
    // Nobody can know.
    try b.run("sync")
    #expect(try FileSystem.list("\(folder)/versions").count == 2)
    // A history that began empty, as the original's do, is no stranger either.
    let empty = try Store.open(path: a.directory.file("empty"), mode: .writer, create: true)
    try empty.makeVersion(basedOnPredecessor: nil, storing: [])
    let place = a.directory.file("place")
    try FileSystem.makeDirectory(place)
    try FolderFormat.files.send(empty, place)
    let c = try ControlWorkspace()
    try c.service.setPeer("place", address: Array(place.utf8))
    try c.write("c", "of c")
    try c.run("sync")
    #expect(try FileSystem.list("\(place)/versions").count == 2)
  }
}
