internal import Foundation

/// The map of each version's values in the original's format: see ``ZoneMapNode``.
struct ZoneMap {
  /// The values of a leaf by key, or the leaves of a root by the beginnings of their keys.
  private enum Node {
    case root([String: ZoneReference])
    case leaf([Value.ID: Value.Reference])
  }

  private let zone: any Zone
  private let cache = Cache<Node>(numberOfGenerations: 2, regenerationLimit: 500)

  init(zone: any Zone) { self.zone = zone }
  private static func beginning(of id: Value.ID) -> String { String(id.rawValue.prefix(2)) }

  private func node(_ reference: ZoneReference) throws -> Node {
    if let known = cache.value(for: reference) { return known }
    guard let data = try zone.data(for: reference) else {
      throw Store.Error.corrupt(
        "the map of version \(reference.version.rawValue) lacks the node \(reference.key)")
    }
    func damage(_ cause: String) -> Store.Error {
      .corrupt(
        "the node \(reference.key) of version \(reference.version.rawValue) cannot be read: \(cause)"
      )
    }
    let children: ZoneMapNode.Children
    do {
      children = try JSONDecoder().decode(ZoneMapNode.self, from: data).children
    } catch {
      throw damage("\(error)")
    }
    let node: Node
    if let nodes = children.nodes {
      node = .root(Dictionary(nodes.map { ($0.key, $0) }) { _, last in last })
    } else if let values = children.values {
      node = .leaf(
        Dictionary(values.map { ($0.valueReference.valueId, $0.valueReference) }) { $1 })
    } else {
      throw damage("it has no children")
    }
    cache.setValue(node, for: reference)
    return node
  }

  private func leaves(of version: Version.ID) throws -> [String: ZoneReference] {
    let reference = ZoneReference(key: ZoneMapNode.rootKey, version: version)
    guard case .root(let leaves) = try node(reference) else {
      throw Store.Error.corrupt("the map of version \(version.rawValue) has no root")
    }
    return leaves
  }

  private func values(of leaf: ZoneReference?) throws -> [Value.ID: Value.Reference] {
    guard let leaf else { return [:] }
    guard case .leaf(let values) = try node(leaf) else {
      throw Store.Error.corrupt(
        "the map of version \(leaf.version.rawValue) has a root below its root")
    }
    return values
  }

  func reference(_ id: Value.ID, at version: Version.ID) throws -> Value.Reference? {
    let leaves = try leaves(of: version)
    return try values(of: leaves[Self.beginning(of: id)])[id]
  }

  /// Returns the references of all values of a version, in the order of keys.
  func references(at version: Version.ID) throws -> [Value.Reference] {
    var all: [Value.Reference] = []
    for leaf in try leaves(of: version).values { all += try values(of: leaf).values }
    return all.sorted { $0.valueId < $1.valueId }
  }

  /// Calls the body with the references that differ, in the order of keys; a nil version has none.
  func forEachDifference(
    from old: Version.ID?, to new: Version.ID?,
    _ body: (Value.ID, Value.Reference?, Value.Reference?) throws -> Void
  ) throws {
    let (before, after) = (
      try old.map { try leaves(of: $0) } ?? [:], try new.map { try leaves(of: $0) } ?? [:]
    )
    var differing: [(Value.ID, Value.Reference?, Value.Reference?)] = []
    for beginning in Set(before.keys).union(after.keys)
    where before[beginning] != after[beginning] {
      let (first, second) = (try values(of: before[beginning]), try values(of: after[beginning]))
      for id in Set(first.keys).union(second.keys) where first[id] != second[id] {
        differing.append((id, first[id], second[id]))
      }
    }
    for (id, first, second) in differing.sorted(by: { $0.0 < $1.0 }) { try body(id, first, second) }
  }

  /// Writes the map of a version: another version's with changed references, nil for a removed one.
  func add(
    _ version: Version.ID, basedOn base: Version.ID?, changing changes: [Value.ID: Value.Reference?]
  ) throws {
    var leaves = try base.map { try self.leaves(of: $0) } ?? [:]
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    var (data, references): ([Data], [ZoneReference]) = ([], [])
    for (beginning, part) in Dictionary(grouping: changes, by: { Self.beginning(of: $0.key) }) {
      var values = try values(of: leaves[beginning])
      for (id, reference) in part { values[id] = reference }
      let reference = ZoneReference(key: beginning, version: version)
      leaves[beginning] = reference
      let pairs = values.sorted { $0.key < $1.key }.map { id, reference in
        ZoneMapNode.Pair(key: .init(keyString: id.rawValue), valueReference: reference)
      }
      data.append(
        try encoder.encode(ZoneMapNode(reference: reference, children: .init(values: pairs))))
      references.append(reference)
    }
    try zone.store(data, for: references)
    let root = ZoneReference(key: ZoneMapNode.rootKey, version: version)
    let nodes = leaves.values.sorted { $0.key < $1.key }
    try zone.store(
      try encoder.encode(ZoneMapNode(reference: root, children: .init(nodes: nodes))), for: root)
  }
}
