extension Value {
  /// One change that a version makes, coded as an object whose key is the name of its case.
  public enum Change: Hashable, Sendable {
    case insert(Value)
    case update(Value)
    case remove(ID)
    /// In a merge: takes this value, for example that of the second predecessor.
    case preserve(Reference)
    /// In a merge: takes the removal that the second predecessor made.
    case preserveRemoval(ID)

    public var valueId: ID {
      switch self {
      case .insert(let value), .update(let value): value.id
      case .remove(let id), .preserveRemoval(let id): id
      case .preserve(let reference): reference.valueId
      }
    }
  }
}

extension Value.Change: Codable {
  private enum CodingKeys: String, CodingKey {
    case insert, update, remove, preserve, preserveRemoval
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if container.contains(.insert) {
      self = .insert(try container.decode(Value.self, forKey: .insert))
    } else if container.contains(.update) {
      self = .update(try container.decode(Value.self, forKey: .update))
    } else if container.contains(.remove) {
      self = .remove(try container.decode(Value.ID.self, forKey: .remove))
    } else if container.contains(.preserve) {
      self = .preserve(try container.decode(Value.Reference.self, forKey: .preserve))
    } else {
      // The error for the last case names the missing key.
      self = .preserveRemoval(try container.decode(Value.ID.self, forKey: .preserveRemoval))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .insert(let value): try container.encode(value, forKey: .insert)
    case .update(let value): try container.encode(value, forKey: .update)
    case .remove(let id): try container.encode(id, forKey: .remove)
    case .preserve(let reference): try container.encode(reference, forKey: .preserve)
    case .preserveRemoval(let id): try container.encode(id, forKey: .preserveRemoval)
    }
  }
}

extension Array where Element == Value.Change {
  public var valueIds: [Value.ID] { map(\.valueId) }

  public var valueDataSize: Int64 {
    reduce(0) { sum, change in
      switch change {
      case .insert(let value), .update(let value): sum + Int64(value.data.count)
      case .remove, .preserve, .preserveRemoval: sum
      }
    }
  }
}
