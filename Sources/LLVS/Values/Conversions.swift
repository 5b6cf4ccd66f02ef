internal import Foundation
internal import LLVSCore

extension Value.ID {
  init(_ key: LLVSCore.Value.ID) { self.init(rawValue: key.rawValue) }
  var core: LLVSCore.Value.ID { LLVSCore.Value.ID(rawValue) }
}

extension Version.ID {
  init(_ id: LLVSCore.Version.ID) { self.init(rawValue: id.rawValue) }
  var core: LLVSCore.Version.ID { LLVSCore.Version.ID(rawValue) }
}

extension Value.Reference {
  init(_ reference: LLVSCore.Value.Reference) {
    self.init(
      valueId: Value.ID(reference.valueId),
      storedVersionId: Version.ID(reference.storedVersionId))
  }

  var core: LLVSCore.Value.Reference {
    LLVSCore.Value.Reference(valueId: valueId.core, storedVersionId: storedVersionId.core)
  }
}

extension Value {
  init(_ value: LLVSCore.Value) {
    self.init(
      id: ID(value.id), data: Data(value.data),
      storedVersionId: value.storedVersionId.map { Version.ID($0) })
  }

  var core: LLVSCore.Value { LLVSCore.Value(id: id.core, data: [UInt8](data)) }
}

extension Value.Change {
  init(_ change: LLVSCore.Value.Change) {
    switch change {
    case .insert(let value): self = .insert(Value(value))
    case .update(let value): self = .update(Value(value))
    case .remove(let id): self = .remove(Value.ID(id))
    case .preserve(let reference): self = .preserve(Value.Reference(reference))
    case .preserveRemoval(let id): self = .preserveRemoval(Value.ID(id))
    }
  }

  var core: LLVSCore.Value.Change {
    switch self {
    case .insert(let value): .insert(value.core)
    case .update(let value): .update(value.core)
    case .remove(let id): .remove(id.core)
    case .preserve(let reference): .preserve(reference.core)
    case .preserveRemoval(let id): .preserveRemoval(id.core)
    }
  }
}

extension Version {
  init(_ version: LLVSCore.Version, successors: Set<ID> = []) {
    let metadata = version.metadata.map { key, value in
      (MetadataKey(rawValue: key.rawValue), MetadataValue(data: Data(value.data)))
    }
    self.init(
      id: ID(version.id),
      predecessors: version.predecessors.map {
        Predecessors(idOfFirst: ID($0.idOfFirst), idOfSecond: $0.idOfSecond.map { ID($0) })
      }, timestamp: version.timestamp, valueDataSize: version.valueDataSize,
      metadata: Dictionary(uniqueKeysWithValues: metadata))
    self.successors.ids = successors
  }

  var core: LLVSCore.Version {
    LLVSCore.Version(
      id: id.core, predecessors: predecessors?.core, timestamp: timestamp,
      valueDataSize: valueDataSize, metadata: metadata.core)
  }
}

extension Version.Predecessors {
  var core: LLVSCore.Version.Predecessors {
    LLVSCore.Version.Predecessors(
      idOfFirst: idOfFirst.core, idOfSecond: idOfSecond.map { $0.core })
  }
}

extension Dictionary where Key == Version.MetadataKey, Value == Version.MetadataValue {
  var core: LLVSCore.Version.Metadata {
    var metadata: LLVSCore.Version.Metadata = [:]
    for (key, value) in self {
      metadata[LLVSCore.Version.MetadataKey(key.rawValue)] =
        LLVSCore.Version.MetadataValue(data: [UInt8](value.data))
    }
    return metadata
  }
}
