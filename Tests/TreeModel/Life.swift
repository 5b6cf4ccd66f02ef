package import Inodes
package import LLVSCore
package import TestSupport
package import WorkingTree

/// Programs at work on an overlay over a recorded tree, among cuts, merges and switches, all in memory.
package struct Life<Tree: Base> {
  package var random: SeededRandom
  package var store = ModelStore()
  package var overlay = Overlay()
  package var recorded: Tree
  /// Reads the bytes of a value.
  package let read: @Sendable (StoredContent) -> [UInt8]
  /// The version that each epoch stands for.
  package var table: [Epoch: Int] = [.first: 0]
  /// The open handles, by the file that each has.
  package var handles: [InodeNumber] = []
  /// The bytes that programs here removed or replaced.
  package var removed: Set<Int> = []
  /// The bytes that others wrote and a merge brought.
  package var theirs: Set<Int> = []
  /// The bytes that others removed, or a program here that had seen them.
  package var dropped: Set<Int> = []
  /// The bytes that the program which acts has not seen, though they are shown.
  package var unseen: Set<Int> = []
  /// The paths that the one reader has looked at, with the epoch of what it saw where a head changed that since.
  package var lastSeen: [String: Epoch?] = [:]
  package var nextNumber: UInt64 = 100
  package var marks = 0
  package var links = 0
  /// What was done, for who looks at a failure.
  package var log: [String] = []
  /// The overlay at the last new head, and all changes since.
  package var image = Overlay()
  package var journal: [Change] = []
  package var kills = 0
  /// The name that cuts ignore, with all below it; nil for none.
  package var ignored: String?
  /// The names that cuts put aside.
  package var aside: Set<InodeName> = []

  package init(
    seed: UInt64, over recorded: Tree, read: @escaping @Sendable (StoredContent) -> [UInt8]
  ) {
    random = SeededRandom(seed: seed)
    self.recorded = recorded
    self.read = read
  }

  /// The marks of a file's bytes.
  package func marks(_ content: FileContent) -> Set<Int> { content.marks(read) }

  package func check(_ when: String) throws {
    do {
      try overlay.check(over: recorded)
    } catch {
      throw LifeFault("\(when): \(error)")
    }
    if let missed = missedByCuts() { throw LifeFault("\(when): no cut looks at \(missed)") }
    var replayed = image
    for change in journal { replayed.apply(change) }
    guard replayed == overlay else { throw LifeFault("\(when): the journal says something else") }
  }

  /// Something pending that neither this cut nor the next looks at, though no cut put it aside.
  private func missedByCuts() -> String? {
    let (now, next) = (overlay.inCut, overlay.sinceCut)
    for (place, _) in overlay.changes
    where !now.places.contains(place) && !next.places.contains(place) && !isAside(place) {
      return "\(place.name.text) in \(place.directory.rawValue)"
    }
    for (number, node) in overlay.nodes where node.isPending || node.orphan != nil {
      if !node.names.isEmpty, node.names.allSatisfy(isAside) { continue }
      if !now.inodes.contains(number), !next.inodes.contains(number) { return "\(number.rawValue)" }
    }
    return nil
  }

  private func isAside(_ place: InodeName) -> Bool {
    aside.contains(place) || overlay.ignoredDirectories.contains(place.directory)
  }

  // MARK: - The tree

  package func shown(_ overlay: Overlay, over base: Tree) -> [String: Set<Int>?] {
    var tree: [String: Set<Int>?] = [:]
    func list(_ directory: InodeNumber, _ path: String) {
      for (name, number) in children(directory, overlay, base) {
        let below = ModelPath.join(path, name.text)
        if isDirectory(number, overlay, base) {
          tree[below] = .some(nil)
          list(number, below)
        } else {
          let content =
            overlay.nodes[number]?.file?.content
            ?? (try? base.inode(number)).flatMap {
              $0.map { FileContent(stored: $0.record.stored) }
            }
          tree[below] = content.map { marks($0) } ?? []
        }
      }
    }
    list(.root, "")
    return tree
  }

  package func shown() -> [String: Set<Int>?] { shown(overlay, over: recorded) }

  package func children(
    _ directory: InodeNumber, _ overlay: Overlay, _ base: Tree
  ) -> [FileName: InodeNumber] {
    var children: [FileName: InodeNumber] = [:]
    for entry in (try? base.page(of: directory, after: .start, limit: .max)) ?? [] {
      children[entry.name] = entry.inode.number
    }
    for name in overlay.changedNames(of: directory) {
      children[name] =
        overlay.changes[InodeName(directory: directory, name: name)]?.inode
    }
    return children
  }

  package func isDirectory(_ number: InodeNumber, _ overlay: Overlay, _ base: Tree) -> Bool {
    overlay.nodes[number]?.isDirectory
      ?? (try? base.inode(number)).flatMap { $0?.record.isDirectory } ?? false
  }

  package func number(_ path: String) -> InodeNumber {
    path.split(separator: "/").reduce(.root) { directory, name in
      let place = InodeName(directory: directory, name: FileName(Array(name.utf8)))
      return ((try? overlay.inode(at: place, over: recorded)) ?? nil) ?? InodeNumber(0)
    }
  }

  package func place(_ path: String) -> InodeName {
    InodeName(
      directory: number(ModelPath.parent(path)), name: FileName(ModelPath.name(path)))
  }

  package mutating func allot() -> InodeNumber {
    nextNumber += 1
    return InodeNumber(nextNumber)
  }

  package mutating func mark() -> Int {
    marks += 1
    return marks
  }

  package func isHeld(_ number: InodeNumber) -> Bool { handles.contains(number) }

  /// True for a name that no cut takes.
  package func isIgnored(_ place: InodeName) -> Bool {
    guard let ignored, overlay.changes[place]?.hidesRecorded == false,
      let path = overlay.path(of: place.directory)?.appending(place.name)
    else { return false }
    return ModelPath.isAtOrBelow(String(decoding: path.bytes, as: UTF8.self), named: ignored)
  }
}

extension ModelRecord {
  package func isThere(_ place: InodeName) -> Bool { overlay.changes[place]?.inode != nil }
}

package struct LifeFault: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

extension SeededRandom {
  package mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
  package mutating func chance(_ part: Double) -> Bool { unit() < part }
}
