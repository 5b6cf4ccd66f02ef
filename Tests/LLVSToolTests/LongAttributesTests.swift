import Foundation
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import LLVSCore

/// A peer's few bytes that unpack to many: extended attributes of zeros.
@Suite("long attributes of a peer", .timeLimit(.minutes(3)))
struct LongAttributesTests {
  private static let length = 60_000

  private let tool: Tool
  private let folder: String

  init() throws {
    tool = try Tool()
    folder = tool.directory.file("x")
    for name in ["", "/versions", "/changes"] { try FileSystem.makeDirectory(folder + name) }
  }

  /// Puts a version into the folder that gives values, directories, or both, two long attributes each.
  private func put(
    _ id: String, values: Range<Int> = 0..<0, directories: Range<Int> = 0..<0, linked: Bool = false
  ) throws {
    func items(_ range: Range<Int>, _ kind: EntryKind) -> [AttributeItem] {
      range.map { index in
        let name = (kind == .directory ? "d" : "f") + String(1_000_000 + index)
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: Self.length)
        return AttributeItem(
          key: Key(bytes: Array(name.utf8)), kind: kind,
          attributes: Attributes(
            mode: 0o755, linkID: linked && kind == .regular ? Array(value.prefix(16)) : nil,
            extended: ["user.a", "user.b"].map {
              Attributes.Extended(name: Array($0.utf8), value: value)
            }))
      }
    }
    var metadata: Version.Metadata = [:]
    for (list, items) in [
      (AttributeList.values, items(values, .regular)),
      (.directories, items(directories, .directory)),
    ] {
      var writer = AttributeWriter(list)
      for item in items { try writer.append(item) }
      try writer.finish(into: &metadata)
    }
    let version = Version(
      id: Version.ID(id), predecessors: nil, timestamp: 1, valueDataSize: 0, metadata: metadata)
    var bytes: [UInt8] = []
    try version.write(to: WireOutput { bytes.append(contentsOf: $0) })
    try File("\(folder)/versions/\(id)", [.readWrite, .create]).write(bytes, at: 0)
    let changes = values.map { #"{"insert":{"id":"f\#(1_000_000 + $0)","data":"QQ=="}}"# }
    try File("\(folder)/changes/\(id)", [.readWrite, .create])
      .write(Array("[\(changes.joined(separator: ","))]".utf8), at: 0)
  }

  /// Runs the program and returns what it said, and the bytes of memory that it took at most.
  private func measured(_ arguments: String) throws -> (output: String, peak: Int) {
    let result = try tool.run(
      """
      python3 -c 'import resource, subprocess, sys
      code = subprocess.run(sys.argv[1:]).returncode; sys.stderr.flush()
      print("\\n%d %d" % (code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
      ' '\(MountedStore.program)' \(arguments) 2>&1
      """)
    let last = result.output.split(separator: "\n").last.map(String.init) ?? ""
    let peak = last.split(separator: " ").last.flatMap { Int($0) } ?? .max >> 10
    return (result.output, peak << 10)
  }

  @Test("a version that unpacks to a thousand times its bytes is taken in little memory")
  func taken() throws {
    let count = 2000
    try put("LONG", values: 0..<count, directories: 0..<count / 4)
    let sizes = try tool.run("du -sk x | cut -f1").output
    #expect(Int(sizes.filter(\.isNumber)) ?? .max < 2048, "\(sizes)")
    _ = try tool.run("llvs init s -q; llvs peer p \"$PWD/x\" --store s -q")
    let (output, peak) = try measured("sync --store s")
    #expect(output.contains("\n0 "), "\(output)")
    // Caches and frames are most of it; it unpacks to 300 MB, which several copies of go far beyond.
    #expect(peak < 512 << 20, "\(peak >> 20) MiB")
    let store = try Store.open(path: tool.directory.file("s"), mode: .reader)
    let head = try #require(try store.state().head)
    let record = try #require(try store.version(head))
    let map = store.map(of: record)
    for key in ["f1000000", "f1001999"] {
      let entry = try #require(try map.entry(at: Key(bytes: Array(key.utf8))))
      #expect(entry.attributes.extended.map(\.value.count) == [Self.length, Self.length])
    }
    #expect(map.count == UInt64(count * 5 / 4))
  }

  @Test("the same of hard links")
  func links() throws {
    let count = 2000
    try put("LINKS", values: 0..<count, linked: true)
    _ = try tool.run("llvs init s -q; llvs peer p \"$PWD/x\" --store s -q")
    let (output, peak) = try measured("sync --store s")
    #expect(output.contains("\n0 "), "\(output)")
    #expect(peak < 720 << 20, "\(peak >> 20) MiB")
  }

  @Test("a version with more extended attributes than a store takes of one is refused by name")
  func refused() throws {
    try put("MUCH", directories: 0..<AttributeList.maximumExtended / (2 * Self.length) + 1)
    try put("GOOD", directories: 0..<1)
    _ = try tool.run("llvs init s -q; llvs peer p \"$PWD/x\" --store s -q")
    let (output, peak) = try measured("retrieve --store s")
    #expect(output.contains("MUCH") && output.contains("extended attributes of more"), "\(output)")
    #expect(peak < AttributeList.maximumExtended, "\(peak >> 20) MiB")
    #expect(try tool.run("llvs log --all --oneline --store s | wc -l").output == "1\n")
  }
}
