package import Inodes
package import LLVSCore
import Synchronization
package import TreeNames

/// The head's map for a working tree: what the recorded tree's rows lack.
///
/// - Concurrency: any thread.
package final class StoredHead: HeadReading {
  /// The head that a recorded tree shows.
  package struct Shown: Hashable, Sendable {
    /// The id; nil for a store without versions.
    package var version: Version.ID?
    package var root: MapRoot
  }

  private struct Known {
    let path: TreePath
    let version: VersionNumber?
    let head: Shown
    let extended: [Attributes.Extended]
  }

  private static let mostKnown = 8
  private let store: Store
  private let shown: @Sendable () -> Shown
  /// The attributes that were read last, newest at the end: a program asks for the length first, then for the
  /// value.
  // A leaf lock, not held while anything is read.
  private let known = Mutex<[Known]>([])

  package init(_ store: Store, shown: @escaping @Sendable () -> Shown) {
    self.store = store
    self.shown = shown
  }

  package var view: TreeView { TreeView(map: store.map(shown().root)) }

  package func extended(
    at path: TreePath, in version: VersionNumber?
  ) throws(FSError) -> [Attributes.Extended] {
    let head = shown()
    let found = known.withLock { known in
      known.last { $0.path == path && $0.version == version && $0.head == head }
    }
    if let found { return found.extended }
    let extended = try FSError.wrapping { () throws(StoreError) -> [Attributes.Extended] in
      let root = try version.map { (number) throws(StoreError) in try self.root(of: number) }
      let view = TreeView(map: store.map(root ?? head.root))
      switch try view.find(path: path.bytes) {
      case .value(let entry)?, .directory(let entry?)?: return entry.attributes.extended
      case .directory(nil)?, nil:
        // The file may have moved since that version; the next version records no long attributes either.
        if version != nil { return [] }
        throw .corrupt("extended attributes are not where the tree's rows say")
      }
    }
    known.withLock { known in
      if known.count >= Self.mostKnown { known.removeFirst() }
      known.append(Known(path: path, version: version, head: head, extended: extended))
    }
    return extended
  }

  private func root(of number: VersionNumber) throws(StoreError) -> MapRoot {
    guard let record = try store.version(number) else {
      throw .corrupt("a version that the tree was shown in is missing")
    }
    return record.map
  }

  package func ownAttribute(_ name: [UInt8], of place: StatedPlace) throws(FSError) -> [UInt8]? {
    try FSError.wrapping { () throws(StoreError) -> [UInt8]? in
      switch String(decoding: name, as: UTF8.self) {
      case "key": return try view.key(forNewPath: place.path.bytes).bytes
      case "state": return Array(try state(of: place).utf8)
      case "version":
        guard let version = place.version, let record = try store.version(version) else {
          return nil
        }
        return Array(record.name.utf8)
      case "revisions":
        let key = try view.key(forNewPath: place.path.bytes)
        return Array(String(try store.keptVersions(changing: key).count).utf8)
      case "bytes":
        var isHere = true
        if place.state == .committed,
          let entry = try view.map.entry(at: view.key(forNewPath: place.path.bytes))
        {
          isHere = try store.canRead(entry.stored)
        }
        return Array((isHere ? "here" : "forgotten").utf8)
      default: return nil
      }
    }
  }

  private func state(of place: StatedPlace) throws(StoreError) -> String {
    guard place.state == .committed, let id = shown().version,
      let head = try store.version(id)?.number
    else { return place.state.rawValue }
    let key = try view.key(forNewPath: place.path.bytes)
    let isOpen = try store.openConflictKeys(at: head).contains(key)
    return isOpen ? "conflict" : place.state.rawValue
  }
}
