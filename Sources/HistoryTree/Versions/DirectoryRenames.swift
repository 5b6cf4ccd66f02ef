package import Grammar
package import LLVSCore
package import TreeNames

/// The directories that are gone from one tree, and whose files another has in a directory that is new there.
package struct DirectoryRenames {
  package struct Item: Hashable, Sendable {
    package var old: [UInt8]
    package var new: [UInt8]
    /// The number of files with the same path below both, and the same bytes.
    package fileprivate(set) var files = 0

    /// For example `photos/ -> pictures/`.
    package var arrow: String { "\(PrintableText.text(old))/ -> \(PrintableText.text(new))/" }

    package var text: String {
      "renamed \(PrintableText.text(old))/ to \(PrintableText.text(new))/ "
        + "(\(PrintableText.count(files, "file")))"
    }

    package var reply: ReplyValue {
      ["from": ReplyBytes(old), "to": ReplyBytes(new), "files": files]
    }
  }

  private static let itemLimit = 16

  package private(set) var items: [Item] = []
  /// All their files, in ascending order of the old key.
  package private(set) var files: [Rename] = []
  /// The index of the item of each key, of files by both keys.
  private var known: [Key: Int] = [:]
  private var directories: [Key: Int] = [:]

  package init(from old: TreeView, to new: TreeView) throws(StoreError) {
    guard try Rename.arePossible(from: old.map, to: new.map) else { return }
    var gone: [MapChange] = []
    var came: [[UInt8]: MapChange] = [:]
    var diff = try MapDiff(from: old.map, to: new.map, comparing: .content)
    while let change = try diff.next() {
      if change.new == nil { gone.append(change) }
      if change.old == nil { came[Self.name(of: change)] = change }
    }
    var pairs: Set<Item> = []
    for rename in Rename.all(in: gone + came.values) {
      guard
        let pair = Self.directories(
          TreeView.ownPath(rename.old.key), TreeView.ownPath(rename.new.key)),
        pairs.count < Self.itemLimit, !pairs.contains(pair), try new.find(path: pair.old) == nil,
        try old.find(path: pair.new) == nil
      else { continue }
      pairs.insert(pair)
    }
    items = pairs.sorted { $0.old.lexicographicallyPrecedes($1.old) }
    for change in gone { note(change, came) }
  }

  private static func name(of change: MapChange) -> [UInt8] {
    TreeView.ownPath(change.key) + (change.isDirectory ? [0x2F] : [])
  }

  /// Returns the paths without the last components that are equal; nil if one of the rest is empty.
  private static func directories(_ old: [UInt8], _ new: [UInt8]) -> Item? {
    var (a, b) = (old.split(separator: 0x2F), new.split(separator: 0x2F))
    while let last = a.last, last == b.last {
      a.removeLast()
      b.removeLast()
    }
    guard !a.isEmpty, !b.isEmpty, a.count < old.split(separator: 0x2F).count else { return nil }
    return Item(old: Array(a.joined(separator: [0x2F])), new: Array(b.joined(separator: [0x2F])))
  }

  private mutating func note(_ change: MapChange, _ came: [[UInt8]: MapChange]) {
    let name = Self.name(of: change)
    for index in items.indices.reversed() where name.starts(with: items[index].old + [0x2F]) {
      guard let old = change.old,
        let new = came[items[index].new + name.dropFirst(items[index].old.count)]?.new,
        old.isDirectory || old.kind == new.kind && old.stored.digest == new.stored.digest
      else { continue }
      if old.isDirectory {
        (directories[old.key], directories[new.key]) = (index, index)
      } else {
        items[index].files += 1
        files.append(Rename(old: old, new: new))
        (known[old.key], known[new.key]) = (index, index)
      }
      return
    }
  }

  /// True if a change is a part of the rename of a directory.
  package func contains(_ change: MapChange) -> Bool {
    (change.isDirectory ? directories : known)[change.key] != nil
  }

  /// The rename of a directory that a renamed file is a part of.
  package subscript(file file: Key) -> Item? { known[file].map { items[$0] } }
}

extension Rename {
  /// The most added, and removed, names for finding renames, because all are in memory.
  package static let limit = 100_000

  /// True if files were added and removed, and not too many.
  package static func arePossible(
    from old: ValueMap, to new: ValueMap
  ) throws(StoreError) -> Bool {
    var (came, went) = (0, 0)
    var diff = try MapDiff(from: old, to: new, comparing: .content)
    while let change = try diff.next() {
      if change.isDirectory { continue }
      if change.old == nil { came += 1 }
      if change.new == nil { went += 1 }
      if came > limit || went > limit { return false }
    }
    return came > 0 && went > 0
  }
}
