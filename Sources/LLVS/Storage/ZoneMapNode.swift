internal import Foundation

/// A node of the map that says which values a version has: the root lists the nodes below it, one
/// for each beginning of keys, and these list the values.
enum ZoneMapNode: Codable {
  case root(reference: ZoneReference, nodes: [ZoneReference])
  case leaf(reference: ZoneReference, values: [Pair])

  /// The key of roots.
  static let rootKey = "__llvs_root"

  struct Pair: Codable {
    struct Key: Codable {
      var keyString: String
    }

    var key: Key
    var valueReference: Value.Reference
  }

  private enum CodingKeys: String, CodingKey {
    case reference, children
  }

  private enum ChildrenKeys: String, CodingKey {
    case nodes, values
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let reference = try container.decode(ZoneReference.self, forKey: .reference)
    let children = try container.nestedContainer(keyedBy: ChildrenKeys.self, forKey: .children)
    if children.contains(.nodes) {
      self = .root(
        reference: reference,
        nodes: try children.decode([ZoneReference].self, forKey: .nodes))
    } else {
      self = .leaf(
        reference: reference, values: try children.decode([Pair].self, forKey: .values))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .root(let reference, let nodes):
      try container.encode(reference, forKey: .reference)
      var children = container.nestedContainer(keyedBy: ChildrenKeys.self, forKey: .children)
      try children.encode(nodes, forKey: .nodes)
    case .leaf(let reference, let values):
      try container.encode(reference, forKey: .reference)
      var children = container.nestedContainer(keyedBy: ChildrenKeys.self, forKey: .children)
      try children.encode(values, forKey: .values)
    }
  }
}
