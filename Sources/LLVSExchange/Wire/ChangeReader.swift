// The file changes/ID: [{"insert": {"id", "data", "storedVersionId"?}}, {"update": ...}, {"remove":
// id}, {"preserve": {"valueId", "storedVersionId"}}, {"preserveRemoval": id}]. It is read change by
// change; the bytes of a value go into a sink while they are decoded.

package import LLVSCore

/// Receives the bytes of one value after another.
package protocol WireValueSink: AnyObject {
  /// The type of a value whose bytes all came.
  associatedtype Stored

  /// Receives the next bytes of the current value; they are valid during the call only.
  func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError)

  /// Receives zeros of the current value, perhaps a great many.
  func append(zeros count: UInt64) throws(StoreError)

  /// Ends the current value.
  func finish() throws(StoreError) -> Stored

  /// Receives a whole value that was hashed before.
  func store(_ value: ReadyValue) throws(StoreError) -> Stored
}

extension WireValueSink {
  /// Receives the zeros like any others.
  package func append(zeros count: UInt64) throws(StoreError) {
    let zeros = [UInt8](repeating: 0, count: Int(min(count, 1 << 18)))
    var rest = count
    while rest > 0 {
      let part = Int(min(rest, UInt64(zeros.count)))
      try zeros.withPiece { (raw) throws(StoreError) in try append(raw.part(0, part)) }
      rest -= UInt64(part)
    }
  }

  /// Receives the value's bytes like any others.
  package func store(_ value: ReadyValue) throws(StoreError) -> Stored {
    try value.bytes.withPiece { (piece) throws(StoreError) in try append(piece) }
    return try finish()
  }
}

/// One change in an exchange.
package enum WireChange<Stored> {
  case insert(Key, Stored)
  case update(Key, Stored)
  case remove(Key)
  case preserve(Key, Version.ID)
  case preserveRemoval(Key)

  /// The key that the change is about.
  package var key: Key {
    switch self {
    case .insert(let key, _), .update(let key, _), .remove(let key), .preserve(let key, _),
      .preserveRemoval(let key):
      key
    }
  }
}

extension WireChange: Sendable where Stored: Sendable {}
extension WireChange: Equatable where Stored: Equatable {}

/// Reads a change list in the order of writing.
package struct ChangeReader<Sink: WireValueSink> {
  private enum Position { case before, within, after }

  private let input: WireInput
  private let sink: Sink
  private var position = Position.before

  package init(_ input: WireInput, into sink: Sink) {
    self.input = input
    self.sink = sink
  }

  /// Returns the next change; nil at the end of a complete list.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` with file, reason and byte, or an error of the sink.
  package mutating func next() throws(StoreError) -> WireChange<Sink.Stored>? {
    let isThere: Bool
    switch position {
    case .before:
      try input.skipByteOrderMark()
      isThere = try input.beginArray()
    case .within: isThere = try input.continuesArray()
    case .after: return nil
    }
    guard isThere else {
      position = .after
      try input.finish()
      return nil
    }
    position = .within
    return try change()
  }

  private func change() throws(StoreError) -> WireChange<Sink.Stored> {
    var change: WireChange<Sink.Stored>?
    try input.object { (name) throws(StoreError) in
      let read: WireChange<Sink.Stored>
      switch name {
      case "insert":
        let (key, stored) = try value()
        read = .insert(key, stored)
      case "update":
        let (key, stored) = try value()
        read = .update(key, stored)
      case "remove": read = .remove(try key())
      case "preserve": read = try preserve()
      case "preserveRemoval": read = .preserveRemoval(try key())
      default: return try input.skipValue()
      }
      guard change == nil else { throw input.malformed("two changes in one") }
      change = read
    }
    guard let change else { throw input.malformed("a change of no known kind") }
    return change
  }

  private func key() throws(StoreError) -> Key {
    Key(bytes: try input.string(atMost: ExchangeLimits.keyLength))
  }

  private func value() throws(StoreError) -> (Key, Sink.Stored) {
    var key: Key?
    var stored: Sink.Stored?
    try input.object { (name) throws(StoreError) in
      switch name {
      case "id":
        guard key == nil else { throw input.malformed("id appears twice") }
        key = try self.key()
      case "data":
        guard stored == nil else { throw input.malformed("data appears twice") }
        try input.base64 { (piece) throws(StoreError) in try sink.append(piece) }
        stored = try sink.finish()
      default: try input.skipValue()  // storedVersionId is always the version's own.
      }
    }
    guard let key else { throw input.malformed("a value without id") }
    guard let stored else { throw input.malformed("a value without data") }
    return (key, stored)
  }

  private func preserve() throws(StoreError) -> WireChange<Sink.Stored> {
    var key: Key?
    var version: Version.ID?
    try input.object { (name) throws(StoreError) in
      switch name {
      case "valueId":
        guard key == nil else { throw input.malformed("valueId appears twice") }
        key = try self.key()
      case "storedVersionId":
        guard version == nil else { throw input.malformed("storedVersionId appears twice") }
        version = try input.versionID()
      default: try input.skipValue()
      }
    }
    guard let key, let version else { throw input.malformed("a reference that is not whole") }
    return .preserve(key, version)
  }
}

/// Collects values in memory, up to a bound.
package final class MemorySink: WireValueSink {
  private var bytes: [UInt8] = []
  private let bound: Int

  /// Creates a sink for values of at most `bound` bytes.
  package init(atMost bound: Int) {
    self.bound = bound
  }

  /// Receives the next bytes of a value.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` beyond the bound.
  package func append(_ piece: UnsafeRawBufferPointer) throws(StoreError) {
    guard piece.count <= bound - bytes.count else {
      throw .invalid("a value of more than \(bound) bytes")
    }
    bytes.append(contentsOf: piece)
  }

  /// Ends the value and returns its bytes.
  package func finish() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }
}
