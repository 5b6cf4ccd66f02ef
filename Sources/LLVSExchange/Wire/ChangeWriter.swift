package import LLVSCore

/// Writes a change list in JSON, change by change; equal lists give equal bytes.
package struct ChangeWriter {
  /// Calls its argument with the bytes of a value, piece by piece.
  package typealias Pieces = (
    _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> Void

  private let output: WireOutput
  private let version: Version.ID
  private var isFirst = true

  /// Begins the list of a version.
  package init(_ output: WireOutput, of version: Version.ID) {
    self.output = output
    self.version = version
    output.write("[")
  }

  /// Writes the insertion of a value.
  package mutating func insert(_ key: Key, data: Pieces) throws(StoreError) {
    begin("{\"insert\":{\"id\":")
    try value(key, data)
  }

  /// Writes the update of a value.
  package mutating func update(_ key: Key, data: Pieces) throws(StoreError) {
    begin("{\"update\":{\"id\":")
    try value(key, data)
  }

  /// Writes the removal of a key.
  package mutating func remove(_ key: Key) throws(StoreError) {
    begin("{\"remove\":")
    try end(key)
  }

  /// Writes that a merge preserves a value which another version stored.
  package mutating func preserve(_ key: Key, storedIn stored: Version.ID) throws(StoreError) {
    begin("{\"preserve\":{\"valueId\":")
    try output.string(key.bytes)
    output.write(",\"storedVersionId\":")
    try output.string(stored.rawValue)
    output.write("}}")
    try output.spill()
  }

  /// Writes that a merge preserves the removal of a key.
  package mutating func preserveRemoval(_ key: Key) throws(StoreError) {
    begin("{\"preserveRemoval\":")
    try end(key)
  }

  /// Ends the list and passes everything on.
  package mutating func finish() throws(StoreError) {
    output.write("]")
    try output.flush()
  }

  /// Announces a value of so many bytes.
  func expect(_ length: UInt64) throws(StoreError) { try output.expect(length) }

  private mutating func begin(_ text: StaticString) {
    if !isFirst { output.write(",") }
    isFirst = false
    output.write(text)
  }

  private func end(_ key: Key) throws(StoreError) {
    try output.string(key.bytes)
    output.write("}")
    try output.spill()
  }

  private func value(_ key: Key, _ data: Pieces) throws(StoreError) {
    try output.string(key.bytes)
    output.write(",\"storedVersionId\":")
    try output.string(version.rawValue)
    output.write(",\"data\":")
    try output.base64(pieces: data)
    output.write("}}")
    try output.spill()
  }
}
