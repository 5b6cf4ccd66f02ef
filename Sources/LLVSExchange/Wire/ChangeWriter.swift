package import LLVSCore

/// Writes a change list in JSON; equal lists give equal bytes.
package struct ChangeWriter {
  /// Passes the bytes of a value on, piece by piece.
  package typealias Pieces = (
    _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> Void

  private let output: WireOutput
  private let version: Version.ID
  private var isFirst = true

  package init(_ output: WireOutput, of version: Version.ID) {
    self.output = output
    self.version = version
    output.write("[")
  }

  package mutating func append(_ change: WireChange<Pieces>) throws(StoreError) {
    output.write(isFirst ? "{\"" : ",{\"")
    isFirst = false
    switch change {
    case .insert(let key, let data):
      output.write("insert")
      try value(key, data)
    case .update(let key, let data):
      output.write("update")
      try value(key, data)
    case .remove(let key):
      output.write("remove\":")
      try output.string(key.bytes)
    case .preserve(let key, let stored):
      output.write("preserve\":{\"valueId\":")
      try output.string(key.bytes)
      output.write(",\"storedVersionId\":")
      try output.string(stored.rawValue)
      output.write("}")
    case .preserveRemoval(let key):
      output.write("preserveRemoval\":")
      try output.string(key.bytes)
    }
    output.write("}")
    try output.spill()
  }

  /// Ends the list and passes everything on.
  package func finish() throws(StoreError) {
    output.write("]")
    try output.flush()
  }

  private func value(_ key: Key, _ data: Pieces) throws(StoreError) {
    output.write("\":{\"id\":")
    try output.string(key.bytes)
    output.write(",\"storedVersionId\":")
    try output.string(version.rawValue)
    output.write(",\"data\":")
    try output.base64(data)
    output.write("}")
  }
}
