import ObjectStores
import Platform
import TestSupport
import Testing

/// A folder of a remote that one test has to itself.
struct Place {
  let store: any ObjectStore
  let kind: StoreUnderTest
  let control: TransferControl
  let folder: String

  init(_ kind: StoreUnderTest, pageLength: Int = 1000) throws {
    self.kind = kind
    control = TransferControl()
    store = try kind.open(control, pageLength)
    folder = "t-\(SystemRandom.hex(6))"
    try store.prepare([folder])
  }

  func name(_ last: String) throws -> ObjectName { try #require(ObjectName("\(folder)/\(last)")) }
  func prefix(_ beginning: String = "") throws -> ObjectPrefix {
    try #require(ObjectPrefix("\(folder)/\(beginning)"))
  }

  func put(_ last: String, _ bytes: [UInt8]) throws {
    try store.put(try name(last), ObjectBody(bytes))
  }

  func bytes(_ last: String, _ range: Range<UInt64>? = nil) throws -> [UInt8] {
    try store.bytes(of: try name(last), range: range, atMost: 64 << 20)
  }

  /// The lengths of what is listed, by the part of the name after the folder.
  func listed(_ beginning: String = "", after: String? = nil) throws -> [String: UInt64] {
    let found = try store.all(try prefix(beginning), after: try after.map { try name($0) })
    #expect(Set(found.map(\.name)).count == found.count, "a name is listed twice")
    return Dictionary(
      found.map { (String($0.name.text.dropFirst(folder.count + 1)), $0.length) },
      uniquingKeysWith: { a, _ in a })
  }

  /// Expects a list, as often as lists of this kind may have to be asked.
  func expectList(
    _ expected: [String: UInt64], _ beginning: String = "", after: String? = nil,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    for _ in 1..<kind.lists where try listed(beginning, after: after) != expected {}
    let found = try listed(beginning, after: after)
    #expect(found == expected, sourceLocation: location)
  }

  /// Expects an error of a kind.
  func expect(
    _ expected: RemoteError.Kind, _ about: String = "",
    at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let error = #expect(throws: RemoteError.self, "\(about)", sourceLocation: location) {
      try body()
    }
    #expect(
      error?.kind == expected, "\(about) \(error.map { "\($0)" } ?? "")",
      sourceLocation: location)
  }
}

enum SystemName {
  static func next() -> String { SystemRandom.hex(8) }
}

func makeDirectory(_ path: String) throws { try FileSystem.makeDirectory(path) }
