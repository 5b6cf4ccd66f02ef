// The file changes/ID, read change by change: [{"insert": {"id", "data", "storedVersionId"?}}, {"update": ...},
// {"remove": id}, {"preserve": {"valueId", "storedVersionId"}}, {"preserveRemoval": id}].

package import LLVSCore

package protocol WireValueSink: AnyObject {
  associatedtype Stored

  func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
  /// Receives zeros of the value, perhaps a great many.
  func append(zeros count: UInt64) throws(StoreError)
  /// Ends a value; `key` is nil if it is not known yet.
  func finish(at key: Key?) throws(StoreError) -> Stored
  func store(_ value: ReadyValue, at key: Key) throws(StoreError) -> Stored
  /// Stores a value whose bytes its source does not have, and drops those that were appended.
  func absent(_ digest: Digest, length: UInt64) throws(StoreError) -> Stored
}

extension WireValueSink {
  package func append(zeros count: UInt64) throws(StoreError) {
    let zeros = [UInt8](repeating: 0, count: Int(min(count, 1 << 18)))
    var rest = count
    while rest > 0 {
      let part = Int(min(rest, UInt64(zeros.count)))
      try zeros.withPiece { (raw) throws(StoreError) in try append(raw.part(0, part)) }
      rest -= UInt64(part)
    }
  }

  package func absent(_ digest: Digest, length: UInt64) throws(StoreError) -> Stored {
    throw .invalid("a value whose bytes its writer has forgotten")
  }

  package func store(_ value: ReadyValue, at key: Key) throws(StoreError) -> Stored {
    try value.bytes.withPiece { (piece) throws(StoreError) in try append(piece) }
    return try finish(at: key)
  }
}

package enum WireChange<Stored> {
  case insert(Key, Stored)
  case update(Key, Stored)
  case remove(Key)
  case preserve(Key, Version.ID)
  case preserveRemoval(Key)

  package var key: Key {
    switch self {
    case .insert(let key, _), .update(let key, _), .remove(let key), .preserve(let key, _),
      .preserveRemoval(let key):
      key
    }
  }

  package func map<Other, Failure>(
    _ body: (Stored) throws(Failure) -> Other
  ) throws(Failure) -> WireChange<Other> {
    switch self {
    case .insert(let key, let stored): .insert(key, try body(stored))
    case .update(let key, let stored): .update(key, try body(stored))
    case .remove(let key): .remove(key)
    case .preserve(let key, let id): .preserve(key, id)
    case .preserveRemoval(let key): .preserveRemoval(key)
    }
  }
}

extension WireChange: Sendable where Stored: Sendable {}
extension WireChange: Equatable where Stored: Equatable {}

extension WireInput: ChangeSource {
  package func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    try skipByteOrderMark()
    try array { () throws(StoreError) in try body(try change(sink)) }
    try finish()
  }

  private func change<Sink: WireValueSink>(
    _ sink: Sink
  ) throws(StoreError) -> WireChange<Sink.Stored> {
    var change: WireChange<Sink.Stored>?
    let names = ["insert", "update", "remove", "preserve", "preserveRemoval"]
    try object(names) { (name) throws(StoreError) in
      guard change == nil else { throw malformed("two changes in one") }
      switch name {
      case "insert":
        let (key, stored) = try value(sink)
        change = .insert(key, stored)
      case "update":
        let (key, stored) = try value(sink)
        change = .update(key, stored)
      case "remove": change = .remove(try key())
      case "preserve":
        let (key, id) = try reference()
        change = .preserve(key, id)
      default: change = .preserveRemoval(try key())
      }
    }
    guard let change else { throw malformed("a change of no known kind") }
    return change
  }

  private func key() throws(StoreError) -> Key {
    Key(bytes: try string(atMost: ExchangeLimits.keyLength))
  }

  /// Reads a value; its storedVersionId is always the version's own.
  private func value<Sink: WireValueSink>(_ sink: Sink) throws(StoreError) -> (Key, Sink.Stored) {
    var key: Key?
    var stored: Sink.Stored?
    try object(["id", "data"]) { (name) throws(StoreError) in
      if name == "id" {
        key = try self.key()
      } else {
        try base64 { (piece) throws(StoreError) in try sink.append(piece) }
        stored = try sink.finish(at: key)
      }
    }
    guard let key else { throw malformed("a value without id") }
    guard let stored else { throw malformed("a value without data") }
    return (key, stored)
  }

  private func reference() throws(StoreError) -> (Key, Version.ID) {
    var key: Key?
    var version: Version.ID?
    try object(["valueId", "storedVersionId"]) { (name) throws(StoreError) in
      if name == "valueId" { key = try self.key() } else { version = try versionID() }
    }
    guard let key, let version else { throw malformed("a reference that is not whole") }
    return (key, version)
  }
}

/// Collects values in memory, up to a bound.
package final class MemorySink: WireValueSink {
  private var bytes: [UInt8] = []
  private let bound: Int
  package init(atMost bound: Int) { self.bound = bound }

  /// - Throws: ``StoreError/invalid(_:)`` beyond the bound.
  package func append(_ piece: UnsafeRawBufferPointer) throws(StoreError) {
    guard piece.count <= bound - bytes.count else {
      throw .invalid("a value of more than \(bound) bytes")
    }
    bytes.append(contentsOf: piece)
  }

  package func finish(at key: Key?) -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }
}
