import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// A folder whose keeper means harm: what it claims is refused by name, leads nowhere, costs little.
@Suite("A folder that lies", .timeLimit(.minutes(3)))
struct LyingFolderTests {
  private let directory: TemporaryDirectory
  private let folder: String
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    folder = directory.file("x")
    for name in ["", "/versions", "/changes"] { try FileSystem.makeDirectory(folder + name) }
    store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
  }

  private func put(_ path: String, _ text: String) throws {
    try File("\(folder)/\(path)", [.readWrite, .create]).write(Array(text.utf8), at: 0)
  }

  private func put(version id: String, _ rest: String, changes: String = "[]") throws {
    try put("versions/\(id)", #"{"version":{"identifier":"\#(id)",\#(rest)}}"#)
    try put("changes/\(id)", changes)
  }

  private func retrieve() throws -> ExchangeReport {
    try FolderFormat.files.retrieve(into: store, folder)
  }

  /// Bytes of memory that this process has had at most (proc(5)).
  private static func peak() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) << 10
  }

  @Test("ids that lead out of the folder are refused wherever they stand")
  func ids() throws {
    let bad = ["../x", "..", "a/b", "/etc/passwd", "a\\u0000b", "\\u002e\\u002e/x", "."]
    for (index, id) in bad.enumerated() {
      try put("versions/V\(index)", #"{"version":{"identifier":"\#(id)","timestamp":1}}"#)
      try put(
        version: "P\(index)", #""timestamp":1,"predecessors":{"idOfFirst":"\#(id)"}"#)
      try put(
        version: "Q\(index)", #""timestamp":1"#,
        changes: #"[{"preserve":{"valueId":"k","storedVersionId":"\#(id)"}}]"#)
    }
    let report = try retrieve()
    #expect(report.taken.isEmpty)
    #expect(report.refused.count == 3 * bad.count, "\(report.refused)")
    #expect(report.refused.allSatisfy { $0.reason.contains("/\($0.id.rawValue)") })
    #expect(try store.state().lastNumber == 0)
  }

  @Test("keys that lead anywhere are only keys")
  func keys() throws {
    let keys = ["../../etc/passwd", "/etc/passwd", "..", "a//b", "a/../../b", ".llvs/control"]
    let changes = keys.map { #"{"insert":{"id":"\#($0)","data":"QQ=="}}"# }.joined(separator: ",")
    try put(version: "K", #""timestamp":1"#, changes: "[\(changes)]")
    #expect(try retrieve().taken.map(\.rawValue) == ["K"])
    for key in keys {
      #expect(try store.value(idString: key, at: Version.ID("K"))?.data == [0x41])
    }
    #expect(try FileSystem.list(directory.path).sorted() == ["s", "x"])
  }

  @Test("circles, also long ones, end")
  func circles() throws {
    for index in 0..<2000 {
      try put(
        version: "C\(index)",
        #""timestamp":1,"predecessors":{"idOfFirst":"C\#((index + 1) % 2000)"}"#)
    }
    let report = try retrieve()
    #expect(report.taken.isEmpty && report.refused.count == 2000)
  }

  @Test("a file that claims or is ten gigabytes costs no memory")
  func claims() throws {
    // Holes: nothing on the disk, ten gigabytes to whoever believes the size.
    for name in ["versions/HOLE", "changes/HOLE"] {
      try File("\(folder)/\(name)", [.readWrite, .create]).truncate(to: 10 << 30)
    }
    try put(version: "SIZE", #""timestamp":1,"valueDataSize":10737418240"#)
    try put(version: "HUGE", #""timestamp":1"#)
    let changes = try File("\(folder)/changes/HUGE", .readWrite)
    try changes.write(Array(#"[{"insert":{"id":"k","data":""#.utf8), at: 0)
    try changes.truncate(to: 10 << 30)
    let before = try Self.peak()
    let report = try retrieve()
    #expect(try Self.peak() - before < 256 << 20)
    #expect(Set(report.refused.map(\.id.rawValue)) == ["HOLE", "HUGE"])
    #expect(report.taken.map(\.rawValue) == ["SIZE"])
  }

  @Test("a frame that unpacks to more than it may is refused, in little memory")
  func bombs() throws {
    let frame = try Zstd.pack([UInt8](repeating: 0, count: 64 << 20))
    #expect(frame.count < 64 << 10)
    let data = Data(frame).base64EncodedString()
    for list in ["llvs.attributes", "llvs.directories"] {
      try put(
        version: list, #""timestamp":1,"metadata":["\#(list)",{"data":"\#(data)"}]"#)
    }
    let before = try Self.peak()
    let report = try retrieve()
    #expect(report.taken.isEmpty && report.refused.count == 2)
    #expect(report.refused.allSatisfy { $0.reason.contains("unpack") }, "\(report.refused)")
    #expect(try Self.peak() - before < 128 << 20)
  }

  @Test("a hundred thousand tiny files are named and end, and litter is not opened")
  func manyFiles() throws {
    let count = Int(ProcessInfo.processInfo.environment["LLVS_TEST_FILES"] ?? "") ?? 20_000
    for index in 0..<count {
      _ = try File("\(folder)/versions/F\(index)", [.readWrite, .create, .exclusive])
    }
    try put(version: "GOOD", #""timestamp":1"#)
    let before = try Self.peak()
    let start = SystemClock.monotonic()
    let report = try retrieve()
    #expect(report.taken.map(\.rawValue) == ["GOOD"] && report.refused.count == count)
    #expect(try Self.peak() - before < (64 << 20) + count * 2048)
    let seconds = Double(SystemClock.monotonic() - start) / 1e9
    #expect(seconds < 10 + Double(count) / 2000, "\(seconds) s")
  }

  @Test("links among the files and in place of the directories are not followed")
  func links() throws {
    let outside = directory.file("outside")
    try FileSystem.makeDirectory(outside)
    try put(version: "L", #""timestamp":1"#)
    try FileSystem.rename("\(folder)/versions/L", to: "\(outside)/L")
    try FileSystem.symlink("\(outside)/L", at: "\(folder)/versions/L")
    let report = try retrieve()
    #expect(report.taken.isEmpty && report.refused.first?.reason.contains("regular") == true)
    try store.makeVersion(basedOnPredecessor: nil, storing: [])
    for kind in ["versions", "changes"] {
      let link = directory.file("link-\(kind)")
      for name in ["", "/versions", "/changes"] where name != "/" + kind {
        try FileSystem.makeDirectory(link + name)
      }
      try FileSystem.symlink(outside, at: "\(link)/\(kind)")
      let before = try FileSystem.list(outside)
      #expect(throws: StoreError.self) { try FolderFormat.files.send(store, link) }
      #expect(try FileSystem.list(outside) == before)
    }
  }

  @Test("a link in place of the directory of bundles is neither read nor written through")
  func linkedBundles() throws {
    let (outside, link) = (directory.file("outside"), directory.file("link"))
    for path in [outside, link] { try FileSystem.makeDirectory(path) }
    try FileSystem.symlink(outside, at: "\(link)/bundles")
    try store.makeVersion(basedOnPredecessor: nil, storing: [])
    #expect(throws: StoreError.self) { try FolderFormat.bundles.send(store, link) }
    #expect(try FileSystem.list(outside).isEmpty)
    #expect(throws: StoreError.self) { try FolderFormat.bundles.retrieve(into: store, link) }
  }

  @Test("files that change while they are read are refused or taken whole")
  func changing() throws {
    let texts = [
      #"[{"insert":{"id":"k","data":"\#(Data(repeating: 1, count: 300_000).base64EncodedString())"}}]"#,
      #"[{"insert":{"id":"k","data":"QQ=="}}]"#, "[",
    ]
    try put(version: "M", #""timestamp":1"#, changes: texts[0])
    let isStopping = Monitor(false)
    let isStopped = Monitor(false)
    let path = "\(folder)/changes/M"
    try SystemThread.detach {
      var turn = 0
      while !isStopping.withLock({ $0 }) {
        turn += 1
        let text = Array(texts[turn % texts.count].utf8)
        guard let file = try? File(path, .readWrite) else { continue }
        try? file.write(text, at: 0)
        try? file.truncate(to: UInt64(text.count))
      }
      isStopped.withLock { $0 = true }
      isStopped.broadcast()
    }
    for round in 0..<40 {
      let fresh = try Store.open(
        path: directory.file("r\(round)"), mode: .writer, create: true)
      let report = try FolderFormat.files.retrieve(into: fresh, folder)
      #expect(report.taken.count + report.refused.count == 1)
      let report2 = try fresh.verify()
      #expect(report2.isSound, "\(report2.damage)")
    }
    isStopping.withLock { $0 = true }
    _ = isStopped.wait { $0 ? true : nil }
  }
}
