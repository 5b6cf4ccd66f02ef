package import Inodes
package import LLVSCore
package import WorkingTree

/// A change of a path that a version is to take.
package final class ModelItem {
  package enum Kind { case remove, exclude, move, make, put }

  package var kind: Kind
  package var path: String
  /// Nil for what has seen all.
  package let epoch: Epoch?
  package let place: InodeName?
  package let number: InodeNumber?
  /// What the recorded tree has at the name.
  package var over: InodeNumber?
  package var source = ""
  package var marks: Set<Int> = []
  package var link: Int?
  /// Tells several files of one path apart: orphans, and files of directories that moved.
  package var turn = 0
  /// True for a file that goes where its directory stood before it moved.
  package var isWhereItStood = false
  package var predecessor = 0

  package init(
    _ kind: Kind, _ path: String, _ epoch: Epoch?, place: InodeName?, number: InodeNumber? = nil
  ) {
    self.kind = kind
    self.path = path
    self.epoch = epoch
    self.place = place
    self.number = number
  }
}

/// The version that items go into.
package struct ModelGroup: Hashable, Comparable {
  package var predecessor: Int
  package var turn: Int

  package init(predecessor: Int, turn: Int) {
    (self.predecessor, self.turn) = (predecessor, turn)
  }

  package static func < (a: ModelGroup, b: ModelGroup) -> Bool {
    (a.predecessor, -a.turn) < (b.predecessor, -b.turn)
  }
}

/// What a cut finds: changes of paths, made of the overlay at one instant. It follows tree_model.py of the
/// design and is as plain as that: all of both trees is in memory.
package struct ModelRecord {
  package let overlay: Overlay
  package let recorded: ModelTree
  private let read: (StoredContent) -> [UInt8]
  package private(set) var items: [ModelItem] = []
  /// The names of each directory that changes decide, whatever moved directories take along.
  package var excluded: [InodeNumber: Set<FileName>] = [:]
  /// Names that stay pending: files that were never saved.
  package private(set) var left: Set<InodeName> = []
  /// Names that stay pending: those that are ignored.
  package private(set) var aside: Set<InodeName> = []
  /// The name that is ignored, with all below it; nil for none.
  private let ignored: String?
  /// Names of which no version takes anything.
  package private(set) var nothing: Set<InodeName> = []
  private var done: Set<[InodeName: InodeNumber]> = []

  package init(
    _ overlay: Overlay, over recorded: ModelTree, ignoring ignored: String? = nil,
    read: @escaping (StoredContent) -> [UInt8] = { $0.inlineBytes }
  ) {
    self.ignored = ignored
    self.read = read
    self.overlay = overlay
    self.recorded = recorded
    let changes = overlay.changes.sorted {
      ($0.value.stamp, $0.key.directory, $0.key.name)
        < ($1.value.stamp, $1.key.directory, $1.key.name)
    }
    for (place, change) in changes { add(change, at: place) }
    for (number, node) in overlay.nodes.sorted(by: { $0.key < $1.key }) {
      addContent(of: node, number)
    }
    addOrphans()
  }

  package func path(of directory: InodeNumber) -> String? {
    overlay.path(of: directory).map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// Where programs see a directory.
  package func place(of directory: InodeNumber) -> InodeName? {
    if let node = overlay.nodes[directory] { return node.place }
    return recorded.places(directory).first
  }

  private func isInPlace(_ directory: InodeNumber, _ path: String) -> Bool {
    recorded.path(of: directory) == path
  }

  private mutating func add(_ change: NameChange, at place: InodeName) {
    guard let above = path(of: place.directory) else {
      nothing.insert(place)
      return
    }
    let path = ModelPath.join(above, place.name.text)
    let over = recorded.child(place.directory, place.name)?.number
    let isInPlace = isInPlace(place.directory, above)
    if change.inode == over {
      nothing.insert(place)
      return
    }
    guard let number = change.inode, let node = overlay.nodes[number] else {
      excluded[place.directory, default: []].insert(place.name)
      nothing.insert(place)
      items.append(ModelItem(isInPlace ? .remove : .exclude, path, change.on, place: place))
      return
    }
    if over == nil, !change.isHeld, isIgnored(node, number, path) {
      aside.insert(place)
      return
    }
    if node.isDirectory {
      excluded[place.directory, default: []].insert(place.name)
      if change.isHeld { return }
      let isRecorded = recorded[number]?.isDirectory ?? false
      let item = ModelItem(
        isRecorded ? .move : .make, path, change.on, place: place, number: number)
      if isRecorded { item.source = recorded.path(of: number) ?? "" }
      item.over = over
      items.append(item)
      return
    }
    addFile(node, number, change, at: place, path, over: over, isInPlace: isInPlace)
  }

  private func isIgnored(_ node: PendingNode, _ number: InodeNumber, _ path: String) -> Bool {
    if node.isDirectory, recorded[number]?.isDirectory ?? false { return false }
    return ignored.map { ModelPath.isAtOrBelow(path, named: $0) } ?? false
  }

  private mutating func addFile(
    _ node: PendingNode, _ number: InodeNumber, _ change: NameChange, at place: InodeName,
    _ path: String, over: InodeNumber?, isInPlace: Bool
  ) {
    let marks: Set<Int>
    var epoch = change.on
    if let save = node.file?.saved {
      marks = save.content.marks(read)
      epoch = epoch.older(save.on)
    } else if node.file?.isNeverSaved ?? false {
      left.insert(place)
      guard let over, recorded[over]?.isDirectory ?? false else { return }
      excluded[place.directory, default: []].insert(place.name)
      items.append(ModelItem(isInPlace ? .remove : .exclude, path, change.on, place: place))
      return
    } else if let inode = recorded[number] {
      marks = inode.marks
    } else if let taken = node.file?.taken {
      marks = taken.marks(read)
    } else if let file = node.file, !file.isUnsaved {
      marks = file.content.marks(read)
    } else {
      left.insert(place)
      return
    }
    excluded[place.directory, default: []].insert(place.name)
    put(number, node, marks, path, epoch, place, over: over)
    done.insert([place: number])
  }

  private mutating func put(
    _ number: InodeNumber, _ node: PendingNode, _ marks: Set<Int>, _ path: String,
    _ epoch: Epoch?, _ place: InodeName?, over: InodeNumber?
  ) {
    let item = ModelItem(.put, path, epoch, place: place, number: number)
    item.marks = marks
    item.link = node.attributes.linkID.map { ModelLink.number($0) }
    item.over = over
    items.append(item)
  }

  private mutating func addContent(of node: PendingNode, _ number: InodeNumber) {
    guard let file = node.file, node.orphan == nil else { return }
    guard file.saved != nil || node.hasNewAttributes && !file.isNeverSaved else { return }
    let marks =
      file.saved?.content.marks(read) ?? recorded[number]?.marks
      ?? (file.taken ?? file.content).marks(read)
    for place in node.names where !done.contains([place: number]) && !aside.contains(place) {
      guard let above = path(of: place.directory) else { continue }
      excluded[place.directory, default: []].insert(place.name)
      put(
        number, node, marks, ModelPath.join(above, place.name.text),
        file.saved.map(\.on) ?? node.on, place,
        over: recorded.child(place.directory, place.name)?.number)
    }
  }

  private mutating func addOrphans() {
    var turns: [String: Int] = [:]
    for (number, node) in overlay.nodes.sorted(by: { $0.key < $1.key }) {
      guard case .detached(let place, let known, let epoch)? = node.orphan,
        let save = node.file?.saved
      else { continue }
      var path = known.map { String(decoding: $0.bytes, as: UTF8.self) }
      if let place {
        path = self.path(of: place.directory).map { ModelPath.join($0, place.name.text) }
      }
      guard let path else { continue }
      turns[path, default: 0] += 1
      put(
        number, node, save.content.marks(read), path, save.on.older(epoch), nil, over: nil)
      items[items.count - 1].link = nil
      items[items.count - 1].turn = turns[path] ?? 1
    }
  }
}
