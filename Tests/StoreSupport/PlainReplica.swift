import Foundation
import LLVSCore
import LLVSExchange

/// A replica that runs the original: random merge ids, no digests, merges of its own semantics, change
/// lists that it computes anew for whatever it passes on.
final class PlainReplica: FolderMember {
  private struct Made {
    var version: PlainWire.Version
    /// The version that stored each value.
    var values: [String: String]
  }

  private let setting: StoreReplica.Setting
  private var versions: [String: Made] = [:]
  private var data: [PlainWire.Change.Reference: Data] = [:]
  private var current: String?

  init(_ setting: StoreReplica.Setting) { self.setting = setting }

  private func reference(_ key: String, _ stored: String) -> PlainWire.Change.Reference {
    PlainWire.Change.Reference(valueId: key, storedVersionId: stored)
  }

  private func isOlder(_ a: String, _ b: String) -> Bool {
    let (x, y) = (versions[a]?.version.timestamp ?? 0, versions[b]?.version.timestamp ?? 0)
    return x == y ? a < b : x < y
  }

  // MARK: History

  private func ancestors(_ id: String) -> Set<String> {
    var found: Set<String> = [id]
    var open = [id]
    while let next = open.popLast() {
      for id in versions[next]?.version.ids ?? [] where found.insert(id).inserted {
        open.append(id)
      }
    }
    return found
  }

  /// Of the common ancestors that are not ancestors of others the newest.
  private func commonAncestor(_ a: String, _ b: String) -> String? {
    let common = ancestors(a).intersection(ancestors(b))
    var inner: Set<String> = []
    for id in common { inner.formUnion(ancestors(id).subtracting([id])) }
    return common.subtracting(inner).max(by: isOlder)
  }

  private func allHeads() -> [String] {
    let inner = Set(versions.values.flatMap(\.version.ids))
    return versions.keys.filter { !inner.contains($0) }.sorted(by: isOlder)
  }

  func heads() -> [String] { allHeads().sorted() }

  func history() -> [String: [String]] { versions.mapValues(\.version.ids) }

  func tree() -> [String: String] {
    guard let current, let made = versions[current] else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: made.values.map { key, stored in
        (key, String(decoding: data[reference(key, stored)] ?? Data(), as: UTF8.self))
      })
  }

  // MARK: Versions

  func author(_ values: [String: String?], settling: [String], _ play: FleetPlay) {
    var deed = FleetPlay.Deed(id: play.id(), values: values)
    let id = deed.id.rawValue
    var held = current.flatMap { versions[$0]?.values } ?? [:]
    let shown = tree()
    for (key, text) in values {
      if let text = shown[key] { deed.seen.insert(text) }
      if let text {
        held[key] = id
        data[reference(key, id)] = Data(text.utf8)
      } else {
        held[key] = nil
      }
    }
    let before = current.flatMap { versions[$0]?.version.timestamp }
    versions[id] = Made(
      version: PlainWire.Version(
        identifier: id, timestamp: play.time(after: before.map { [$0] } ?? []),
        predecessors: current.map { PlainWire.Version.Predecessors(idOfFirst: $0) }), values: held)
    current = id
    play.deeds.append(deed)
  }

  func merge(_ play: FleetPlay) -> Int {
    var made = 0
    if current == nil { current = allHeads().last }
    guard let start = current else { return 0 }
    for head in allHeads() where head != start {
      if merge(head, play) { made += 1 }
    }
    return made
  }

  private func merge(_ other: String, _ play: FleetPlay) -> Bool {
    guard let first = current, let a = versions[first], let b = versions[other] else {
      return false
    }
    let ancestor = commonAncestor(first, other)
    if ancestor == first || ancestor == other {
      current = ancestor == first ? other : first
      return false
    }
    let base = ancestor.flatMap { versions[$0]?.values } ?? [:]
    var merged = a.values
    for key in Set(base.keys).union(a.values.keys).union(b.values.keys) {
      let (o, x, y) = (base[key], a.values[key], b.values[key])
      guard x != y else { continue }
      if y == o { continue }
      merged[key] =
        x == o ? y : winner(x, y, firstIsNewer: a.version.timestamp >= b.version.timestamp)
    }
    let id = play.id().rawValue
    versions[id] = Made(
      version: PlainWire.Version(
        identifier: id, timestamp: play.time(after: [a.version.timestamp, b.version.timestamp]),
        predecessors: PlainWire.Version.Predecessors(idOfFirst: first, idOfSecond: other)),
      values: merged)
    current = id
    return true
  }

  private func winner(_ first: String?, _ second: String?, firstIsNewer: Bool) -> String? {
    if setting == .branch { return firstIsNewer ? first : second }
    guard let first, let second else { return first ?? second }
    let (a, b) = (versions[first]?.version.timestamp ?? 0, versions[second]?.version.timestamp ?? 0)
    return a >= b ? first : second
  }

  // MARK: Exchange

  func retrieve(from folder: String) throws {
    let manager = FileManager.default
    guard manager.fileExists(atPath: "\(folder)/versions") else { return }
    var found: [String: PlainWire.Version] = [:]
    for name in try manager.contentsOfDirectory(atPath: "\(folder)/versions")
    where !name.hasPrefix(".") && versions[name] == nil
      && manager.fileExists(atPath: "\(folder)/changes/\(name)")
    {
      found[name] = try PlainWire.read(
        PlainWire.VersionFile.self, "\(folder)/versions/\(name)"
      ).version
    }
    var isProgressing = true
    while isProgressing {
      isProgressing = false
      for (id, version) in found where version.ids.allSatisfy({ versions[$0] != nil }) {
        found[id] = nil
        isProgressing = true
        try take(version, try PlainWire.read([PlainWire.Change].self, "\(folder)/changes/\(id)"))
      }
    }
  }

  /// Applies a change list to the first predecessor, and to it alone.
  private func take(_ version: PlainWire.Version, _ changes: [PlainWire.Change]) throws {
    var values = version.ids.first.flatMap { versions[$0]?.values } ?? [:]
    for change in changes {
      if let stored = change.insert ?? change.update {
        values[stored.id] = version.identifier
        data[reference(stored.id, version.identifier)] = stored.data
      } else if let preserved = change.preserve {
        guard data[preserved] != nil else {
          throw StoreError.invalid("\(version.identifier) preserves what nobody has")
        }
        values[preserved.valueId] = preserved.storedVersionId
      } else if let key = change.remove ?? change.preserveRemoval {
        values[key] = nil
      }
    }
    versions[version.identifier] = Made(version: version, values: values)
  }

  func send(to folder: String) throws {
    let manager = FileManager.default
    for kind in ["versions", "changes"] {
      try manager.createDirectory(
        atPath: "\(folder)/\(kind)", withIntermediateDirectories: true)
    }
    for (id, made) in versions where !manager.fileExists(atPath: "\(folder)/versions/\(id)") {
      try PlainWire.write(changes(made), "\(folder)/changes/\(id)")
      try PlainWire.write(
        PlainWire.VersionFile(version: made.version), "\(folder)/versions/\(id)")
    }
  }

  /// What the original says that a version changed: of a merge every value that differs between its
  /// predecessors.
  private func changes(_ made: Made) -> [PlainWire.Change] {
    let id = made.version.identifier
    let before = made.version.ids.map { versions[$0]?.values ?? [:] }
    var changes: [PlainWire.Change] = []
    let keys = Set(made.values.keys).union(before.flatMap(\.keys))
    func stored(_ key: String) -> PlainWire.Change.Stored? {
      made.values[key].map {
        PlainWire.Change.Stored(
          id: key, data: data[reference(key, $0)] ?? Data(), storedVersionId: id)
      }
    }
    for key in keys {
      let held = made.values[key]
      let first = before.first?[key]
      guard before.count == 2 else {
        guard held != first else { continue }
        changes.append(
          held == nil
            ? PlainWire.Change(remove: key)
            : first == nil
              ? PlainWire.Change(insert: stored(key)) : PlainWire.Change(update: stored(key)))
        continue
      }
      let second = before[1][key]
      switch (held, first, second) {
      case (nil, nil, nil): break
      case (nil, .some, .some): changes.append(PlainWire.Change(remove: key))
      case (nil, _, _): changes.append(PlainWire.Change(preserveRemoval: key))
      case (.some, nil, nil): changes.append(PlainWire.Change(insert: stored(key)))
      case (let held?, _, _):
        if held == first && held == second { break }
        changes.append(
          held == first || held == second
            ? PlainWire.Change(preserve: reference(key, held))
            : PlainWire.Change(update: stored(key)))
      }
    }
    return changes
  }
}
