internal import Foundation
internal import LLVSCore
internal import LLVSExchange

/// Versions in memory, written and read in the format of a folder so that all checks apply.
final class GivenVersions: VersionSource, Sendable {
  private let order: [LLVSCore.Version.ID]
  private let versions: [LLVSCore.Version.ID: VersionChanges]

  init(_ given: [VersionChanges]) {
    order = given.map { $0.version.id.core }
    versions = Dictionary(given.map { ($0.version.id.core, $0) }) { first, _ in first }
  }

  func versionIDs() -> [LLVSCore.Version.ID] { order }

  func version(_ id: LLVSCore.Version.ID) throws(StoreError) -> LLVSCore.Version? {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    guard let given = versions[id] else { return nil }
    return try LLVSCore.Version(
      reading: try input(label(id)) { (output) throws(StoreError) in
        try given.version.core.write(to: output)
      })
  }

  func changes(of id: LLVSCore.Version.ID) throws(StoreError) -> WireInput? {
    guard let given = versions[id] else { return nil }
    return try input(changesLabel(id)) { (output) throws(StoreError) in
      try output.write(given.valueChanges, of: id)
    }
  }

  private func input(
    _ name: String, _ write: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError) -> WireInput {
    let bytes = Bytes()
    let output = WireOutput { (piece) throws(StoreError) in bytes.all += piece }
    try write(output)
    try output.flush()
    return WireInput(name: name, bytes: bytes.all)
  }

  private final class Bytes { var all: [UInt8] = [] }

  func label(_ id: LLVSCore.Version.ID) -> String { "version \(id.rawValue)" }
  func changesLabel(_ id: LLVSCore.Version.ID) -> String { "changes of version \(id.rawValue)" }
}

extension WireOutput {
  func write(_ changes: [Value.Change], of version: LLVSCore.Version.ID) throws(StoreError) {
    var writer = ChangeWriter(self, of: version)
    for change in changes {
      func pieces(_ value: Value) -> ChangeWriter.Pieces {
        { (take) throws(StoreError) in try [UInt8](value.data).withPiece(take) }
      }
      let written: WireChange<ChangeWriter.Pieces> =
        switch change {
        case .insert(let value): .insert(value.id.core, pieces(value))
        case .update(let value): .update(value.id.core, pieces(value))
        case .remove(let id): .remove(id.core)
        case .preserve(let old): .preserve(old.valueId.core, old.storedVersionId.core)
        case .preserveRemoval(let id): .preserveRemoval(id.core)
        }
      try writer.append(written)
    }
    try writer.finish()
  }
}

extension [Value.Change] {
  init(reading source: some ChangeSource, of version: Version.ID) throws(StoreError) {
    self = []
    try source.read(into: MemorySink(atMost: .max)) { (change) throws(StoreError) in
      append(Value.Change(change, of: version))
    }
  }
}

extension Value.Change {
  fileprivate init(_ change: WireChange<[UInt8]>, of version: Version.ID) {
    func value(_ key: LLVSCore.Value.ID, _ bytes: [UInt8]) -> Value {
      Value(id: Value.ID(key), data: Data(bytes), storedVersionId: version)
    }
    switch change {
    case .insert(let key, let bytes): self = .insert(value(key, bytes))
    case .update(let key, let bytes): self = .update(value(key, bytes))
    case .remove(let key): self = .remove(Value.ID(key))
    case .preserve(let key, let stored):
      self = .preserve(
        Value.Reference(valueId: Value.ID(key), storedVersionId: Version.ID(stored)))
    case .preserveRemoval(let key): self = .preserveRemoval(Value.ID(key))
    }
  }
}
