import Foundation
import LLVSExchange
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

@Suite("What is wrong in a folder", .timeLimit(.minutes(1)))
struct ForeignFolderTests {
  private let directory: TemporaryDirectory
  private let folder: String
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("x")
    for name in ["", "/versions", "/changes"] { try FileSystem.makeDirectory(folder + name) }
    store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
  }

  private func put(_ path: String, _ text: String) throws {
    try FileSystem.replace("\(directory.path)/moving", with: Array(text.utf8))
    try FileSystem.rename("\(directory.path)/moving", to: "\(folder)/\(path)")
  }

  private func put(
    version id: String, _ rest: String = #""timestamp":1"#, changes: String? = "[]"
  ) throws {
    try put("versions/\(id)", #"{"version":{"identifier":"\#(id)",\#(rest)}}"#)
    if let changes { try put("changes/\(id)", changes) }
  }

  private func retrieve() throws -> ExchangeReport {
    try FolderFormat.files.retrieve(into: store, folder)
  }

  @Test("history gives what came after first, also where a clock went back")
  func clockThatWentBack() throws {
    func after(_ ids: String...) -> String {
      let names = zip(["idOfFirst", "idOfSecond"], ids).map { #""\#($0)":"\#($1)""# }
      return ids.isEmpty ? "" : #","predecessors":{\#(names.joined(separator: ","))}"#
    }
    try put(version: "R", #""timestamp":300\#(after())"#)
    try put(version: "A", #""timestamp":200\#(after("R"))"#)
    try put(version: "B", #""timestamp":400\#(after("R"))"#)
    try put(version: "M", #""timestamp":100\#(after("A", "B"))"#)
    try put(version: "C", #""timestamp":250\#(after("B"))"#)
    #expect(try retrieve().taken.count == 5)
    let order = ["C", "M", "B", "A", "R"]
    #expect(try store.allVersionIDs.map(\.rawValue) == order)
  }

  @Test("copies that synchronisers and file managers make are passed over in silence")
  func copies() throws {
    let id = "C0FFEE00-0000-4000-8000-000000000001"
    try put(version: id)
    for folder in ["versions", "changes"] {
      for name in [
        "\(id) (Ann's conflicted copy 2026-11-20)", "\(id).sync-conflict-20261120-101010-ABCDEFG",
        "\(id)~", "\(id) 2", "Copy of \(id)", "\(id)-laptop", "desktop.ini", "Thumbs.db",
        ".syncthing.\(id).tmp",
      ] { try put("\(folder)/\(name)", #"{"version":{"identifier":"\#(id)","timestamp":1}}"#) }
    }
    let report = try retrieve()
    #expect(report.taken.map(\.rawValue) == [id])
    #expect(report.refused.isEmpty)
    #expect(try FolderFormat.files.retrieve(into: store, folder).refused.isEmpty)
    // Without the file itself, what remains is not passed over.
    let alone = "C0FFEE00-0000-4000-8000-000000000002"
    try put("versions/\(alone) 2", #"{"version":{"identifier":"\#(alone)","timestamp":1}}"#)
    #expect(try retrieve().refused.count == 1)
  }

  @Test(
    "a malformed version is refused and named, nothing of it is stored, others are taken",
    arguments: [
      (#""timestamp":"x""#, "[]", "number"), (#""timestamp":1e99"#, "[]", "range"),
      (#""timestamp":1"#, "{}", "\"[\""), (#""timestamp":1"#, #"[{"insert":{"id":"a"}}]"#, "data"),
      (#""timestamp":1"#, #"[{"insert":{"id":"a","data":"A"}}]"#, "base64"),
      (#""timestamp":1"#, #"[{"insert":{"id":"a","data":"QQ=="}},{"nope":1}]"#, "kind"),
      (
        #""timestamp":1"#, #"[{"preserve":{"valueId":"a","storedVersionId":"NONE"}}]"#, "preserves"
      ),
      (
        #""timestamp":1,"metadata":["llvs.digest",{"data":"IjAwIg=="}]"#,
        #"[{"insert":{"id":"a","data":"QQ=="}}]"#, "digest"
      ),
      (#""timestamp":1,"metadata":["llvs.attributes",{"data":"AAAA"}]"#, "[]", "unpack"),
    ])
  func refused(_ rest: String, _ changes: String, _ reason: String) throws {
    try put(version: "BAD", rest, changes: changes)
    try put(
      version: "AFTER", #""timestamp":2,"predecessors":{"idOfFirst":"BAD"}"#)
    try put(
      version: "LATER", #""timestamp":3,"predecessors":{"idOfFirst":"AFTER"}"#)
    try put(version: "GOOD", changes: #"[{"insert":{"id":"g","data":"QQ=="}}]"#)
    let report = try retrieve()
    #expect(report.taken == [Version.ID("GOOD")])
    #expect(Set(report.refused.map(\.id.rawValue)) == ["BAD", "AFTER", "LATER"])
    let fault = try require(report.refused.first { $0.id.rawValue == "BAD" })
    #expect(fault.reason.contains(reason) && fault.reason.contains("/BAD"), "\(fault.reason)")
    #expect(try store.version(Version.ID("BAD")) == nil)
    #expect(try store.value(idString: "g", at: Version.ID("GOOD"))?.data == [0x41])
    // Once it is whole it is taken, and so is what follows.
    try put(version: "BAD")
    #expect(try retrieve().taken.map(\.rawValue) == ["BAD", "AFTER", "LATER"])
  }

  @Test("what is not there yet waits, and is no fault")
  func waiting() throws {
    try put(version: "A", changes: nil)
    try put(version: "B", #""timestamp":2,"predecessors":{"idOfFirst":"A"}"#)
    try put(version: "C", #""timestamp":2,"predecessors":{"idOfFirst":"NOWHERE"}"#)
    let report = try retrieve()
    #expect(report.taken.isEmpty && report.refused.isEmpty)
    #expect(Set(report.waiting.map(\.id.rawValue)) == ["A", "B", "C"])
    try put("changes/A", "[]")
    #expect(try retrieve().taken.map(\.rawValue) == ["A", "B"])
  }

  @Test("circles, wrong names and litter are passed over")
  func litter() throws {
    try put(version: "X", #""timestamp":1,"predecessors":{"idOfFirst":"Y"}"#)
    try put(version: "Y", #""timestamp":1,"predecessors":{"idOfFirst":"X"}"#)
    try put("versions/.DS_Store", "litter")
    try put("versions/half.tmp", "{")
    try put("versions/Z (copy)", #"{"version":{"identifier":"Z","timestamp":1}}"#)
    try put("changes/Z (copy)", "[]")
    try FileSystem.makeDirectory("\(folder)/versions/directory")
    try FileSystem.symlink("/etc/passwd", at: "\(folder)/versions/link")
    try put(version: "GOOD")
    let report = try retrieve()
    #expect(report.taken.map(\.rawValue) == ["GOOD"])
    #expect(
      Set(report.refused.map(\.id.rawValue)) == ["X", "Y", "Z (copy)", "link"])
  }

  @Test("a FIFO in the folder is refused, not waited for")
  func fifo() throws {
    try run("mkfifo", "\(folder)/versions/PIPE")
    try put(version: "P2", changes: nil)
    try run("mkfifo", "\(folder)/changes/P2")
    let report = try retrieve()
    #expect(Set(report.refused.map(\.id.rawValue)) == ["PIPE", "P2"])
  }

  @Test("preserve is resolved: what no predecessor has is stored by the version itself")
  func preserve() throws {
    let insert = #"[{"insert":{"id":"k","data":"QQ=="}}]"#
    try put(version: "R", changes: insert)
    try put(
      version: "U", #""timestamp":2,"predecessors":{"idOfFirst":"R"}"#,
      changes: #"[{"update":{"id":"k","data":"Qg=="}}]"#)
    try put(
      version: "V", #""timestamp":3,"predecessors":{"idOfFirst":"U"}"#,
      changes: #"[{"preserve":{"valueId":"k","storedVersionId":"R"}}]"#)
    try put(
      version: "W", #""timestamp":3,"predecessors":{"idOfFirst":"R"}"#,
      changes: #"[{"insert":{"id":"w","data":"Qw=="}}]"#)
    try put(
      version: "M", #""timestamp":4,"predecessors":{"idOfFirst":"W","idOfSecond":"U"}"#,
      changes: #"[{"preserve":{"valueId":"k","storedVersionId":"U"}},{"remove":"w"}]"#)
    #expect(try retrieve().taken.count == 5)
    let reference = try require(store.valueReference(id: .init("k"), at: .init("V")))
    #expect(reference.storedVersionId.rawValue == "V")
    #expect(try store.value(storedAt: reference)?.data == [0x41])
    let merged = try store.valueReferences(at: .init("M"))
    #expect(merged.map(\.storedVersionId.rawValue) == ["U"])
  }

  @Test("the original's updates inherit what is known of a value")
  func inherits() throws {
    let time = Attributes.Time(seconds: 5, nanoseconds: 6)
    var writer = AttributeWriter(.values)
    try writer.append(
      AttributeItem(
        key: Key("k"), kind: .regular, attributes: Attributes(mode: 0o755, mtime: time)))
    var metadata: Version.Metadata = [:]
    try writer.finish(into: &metadata)
    let packed = Data(try require(metadata.first).value.data).base64EncodedString()
    try put(
      version: "R", #""timestamp":1,"metadata":["llvs.attributes",{"data":"\#(packed)"}]"#,
      changes: #"[{"insert":{"id":"k","data":"QQ=="}}]"#)
    try put(
      version: "U", #""timestamp":2,"predecessors":{"idOfFirst":"R"}"#,
      changes: #"[{"update":{"id":"k","data":"Qg=="}}]"#)
    #expect(try retrieve().taken.count == 2)
    func attributes(_ id: String) throws -> Attributes? {
      let record = try require(store.version(Version.ID(id)))
      return try store.map(of: record).entry(at: Key("k"))?.attributes
    }
    #expect(try attributes("R") == Attributes(mode: 0o755, mtime: time))
    #expect(try attributes("U") == Attributes(mode: 0o755))
  }

  @Test("a folder that is not there is unreachable, and is not made")
  func absent() throws {
    let folder = directory.file("none")
    func refuses(_ work: () throws -> Void) throws {
      do {
        try work()
        Issue.record("it went well")
      } catch StoreError.unreachable(let message) {
        #expect(message.hasSuffix("none is not there"))
      }
    }
    try refuses { try FolderFormat.files.retrieve(into: store, folder) }
    try refuses { try FolderFormat.files.send(store, folder) }
    #expect(try !FileSystem.exists(folder))
  }

  @Test("what is here and there is compared, and what differs is named")
  func verify() throws {
    let insert = #"[{"insert":{"id":"k","data":"QQ=="}}]"#
    for id in ["A", "B", "C", "D"] { try put(version: id, changes: insert) }
    _ = try retrieve()
    func faults() throws -> [String] {
      let transfer = TransferControl()
      let objects = DirectoryStore(path: folder, scratch: ".outgoing", control: transfer)
      let files = VersionObjects(objects, for: store, transfer: transfer)
      return try store.check(files).refused.map(\.reason)
    }
    #expect(try faults().isEmpty)
    try put("changes/A", #"[{"insert":{"id":"k","data":"Qg=="}}]"#)
    try put("changes/B", #"[{"remove":"k"}]"#)
    try put("versions/C", #"{"version":{"identifier":"C","timestamp":2}}"#)
    let digest = Data("\"00\"".utf8).base64EncodedString()
    try put(
      "versions/D",
      #"{"version":{"identifier":"D","timestamp":1,"metadata":["llvs.digest",{"data":"\#(digest)"}]}}"#
    )
    let found = try faults()
    #expect(found.count == 4)
    #expect(
      found.map { $0.prefix(10) } == ["changes/A:", "changes/B:", "versions/C", "versions/D"])
    #expect(found.last?.contains("\"00\"") == true)
  }

  @Test("stopping stops, and whole versions stay")
  func cancel() throws {
    for number in 0..<20 { try put(version: "V\(number)") }
    var calls = 0
    let control = ExchangeControl(isCancelled: {
      calls += 1
      return calls > 30
    })
    do {
      try FolderFormat.files.retrieve(into: store, folder, control)
      Issue.record("it went on")
    } catch StoreError.cancelled {
      #expect(try store.headNumbers().isEmpty)
    }
    #expect(try retrieve().taken.count == 20)
  }

  private func run(_ name: String, _ argument: String) throws {
    let process = try Process.run(
      URL(fileURLWithPath: "/usr/bin/env"), arguments: [name, argument])
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }
}
