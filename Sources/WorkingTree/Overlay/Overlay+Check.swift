package import Inodes
package import LLVSCore

/// A contradiction within an overlay or with the recorded tree below it.
package struct OverlayFault: Error, Hashable, CustomStringConvertible {
  /// Such as "I4".
  package var invariant: String
  package var description: String
}

extension Overlay {
  /// Checks whether the overlay is consistent with itself and with the recorded tree.
  /// - Throws: ``OverlayFault`` for the first broken invariant, ``StoreError`` if the recorded tree cannot be read.
  /// - Complexity: O(*p* log *n*) for *p* pending changes and nodes over *n* names.
  package func check(over base: any Base) throws {
    for (place, change) in changes { try check(change, at: place, over: base) }
    for (number, node) in nodes { try check(node, number, over: base) }
    for orphan in orphans where nodes[orphan]?.orphan == nil {
      throw OverlayFault(invariant: "I6", description: "\(orphan.rawValue) is no orphan")
    }
    if !isCutting, !inCut.isEmpty {
      throw OverlayFault(invariant: "F3", description: "a list of a cut without one")
    }
    for number in ignoredDirectories {
      guard nodes[number]?.isDirectory ?? false, try base.inode(number) == nil else {
        throw OverlayFault(
          invariant: "F4", description: "\(title(number)) is recorded and counts as ignored")
      }
    }
    let counted = changes.reduce(0) { count, _ in count + 1 }
    guard counted == changes.count else {
      throw OverlayFault(invariant: "I4", description: "\(counted) names, \(changes.count) changes")
    }
    try checkSubdirectories()
    try checkCookies(over: base)
  }

  private func checkSubdirectories() throws {
    var added: [InodeNumber: Int] = [:]
    for (place, change) in changes {
      added[place.directory, default: 0] += change.addedSubdirectories
    }
    let counted = Dictionary(uniqueKeysWithValues: addedSubdirectories.map { ($0.key, $0.value) })
    guard counted == added.filter({ $0.value != 0 }) else {
      throw OverlayFault(invariant: "I4", description: "\(counted) subdirectories, not \(added)")
    }
  }

  private func checkCookies(over base: any Base) throws {
    for (directory, given) in cookies {
      guard Set(given.values).count == given.count else {
        throw OverlayFault(
          invariant: "I4", description: "two names in \(directory.rawValue) have one cookie")
      }
      for (name, cookie) in given {
        let entry = try base.child(of: directory, named: name)
        guard changes[InodeName(directory: directory, name: name)] != nil,
          entry == nil || entry?.cookie == cookie
        else {
          throw OverlayFault(
            invariant: "I4",
            description: "\(name) in \(directory.rawValue) has the cookie \(cookie)")
        }
      }
    }
  }

  private func check(_ change: NameChange, at place: InodeName, over base: any Base) throws {
    func fault(_ invariant: String, _ text: String) -> OverlayFault {
      OverlayFault(invariant: invariant, description: "\(title(of: place)) \(text)")
    }
    let recorded = try base.child(of: place.directory, named: place.name)?.inode
    if !isCutting, recorded?.number == change.inode { throw fault("I3", "says what is recorded") }
    guard change.hidesRecorded == (recorded != nil),
      change.hidesDirectory == recorded?.record.isDirectory ?? false
    else { throw fault("I3", "hides \(recorded as Any)") }
    guard place.directory == .root || nodes[place.directory]?.isDirectory ?? false
    else { throw fault("I5", "is in a directory that is no node") }
    guard let number = change.inode else { return }
    guard let node = nodes[number] else { throw fault("I4", "leads to no node") }
    guard node.names.contains(place) else { throw fault("I4", "is no name of its node") }
    guard node.isDirectory == change.isDirectory else { throw fault("I4", "is of another kind") }
    guard path(of: place.directory) != nil else { throw fault("I5", "is out of reach") }
  }

  private func check(_ node: PendingNode, _ number: InodeNumber, over base: any Base) throws {
    func fault(_ invariant: String, _ text: String) -> OverlayFault {
      OverlayFault(
        invariant: invariant, description: "\(title(number)) (inode \(number.rawValue)) \(text)")
    }
    guard Set(node.names).count == node.names.count, !node.isDirectory || node.names.count < 2
    else { throw fault("I4", "has names twice: \(node.names.map(title(of:)))") }
    for name in node.names {
      let shown = try inode(at: name, over: base)
      guard shown == number else { throw fault("I4", "has a name that shows \(shown as Any)") }
      guard name.directory == .root || nodes.contains(name.directory)
      else { throw fault("I5", "is in \(name.directory.rawValue), which is no node") }
    }
    let recorded = try base.names(of: number)
    guard Set(recorded) == Set(node.recordedNames) else {
      let (found, known) = (recorded.map(title(of:)), node.recordedNames.map(title(of:)))
      throw fault("I4", "has the recorded names \(found), not \(known)")
    }
    for name in recorded where changes[name] == nil && !node.names.contains(name) {
      // Names below a directory that was removed here are not visible.
      if try isReachable(name.directory, over: base) {
        throw fault(
          node.orphan == nil ? "I4" : "I6",
          "is shown as \(title(of: name)), has the names \(node.names.map(title(of:)))")
      }
    }
    if node.orphan != nil, !orphans.contains(number) || !node.names.isEmpty {
      throw fault("I6", "is an orphan with a name")
    }
    if node.isPending && !node.isDirectory && node.orphan == nil && node.names.isEmpty {
      throw fault("I7", "has neither a name nor a reason")
    }
  }

  /// The path of a name, as far as nodes have it.
  private func title(of place: InodeName) -> String {
    let name = String(decoding: place.name.bytes, as: UTF8.self)
    return path(of: place.directory).map {
      String(decoding: $0.appending(place.name).bytes, as: UTF8.self)
    } ?? "\(name) in inode \(place.directory.rawValue)"
  }

  private func isReachable(
    _ directory: InodeNumber, over base: any Base
  ) throws(StoreError) -> Bool {
    var (number, depth) = (directory, 0)
    while number != .root {
      let node = nodes[number]
      let place = try node == nil ? base.names(of: number).first : node?.place
      guard depth <= 4096, let place, try inode(at: place, over: base) == number
      else { return false }
      number = place.directory
      depth += 1
    }
    return true
  }

  /// True if every change leads to its inode, every inode knows its names, and all are below the root; false for a
  /// damaged journal. Quicker than ``check(over:)``, because it reads only recorded names without a change.
  /// - Complexity: O(*p*) for *p* pending changes and nodes, and a look-up for each recorded name among them.
  package func isSound(over base: any Base) throws(StoreError) -> Bool {
    var roots = RootedDirectories(overlay: self, base: base)
    for (place, change) in changes {
      guard try roots.contains(place.directory) else { return false }
      guard let number = change.inode else { continue }
      guard nodes.names(of: number)?.contains(place) ?? false else { return false }
    }
    for number in nodes.keys where number != .root && nodes.orphan(of: number) == nil {
      for name in nodes.names(of: number) ?? [] {
        guard try roots.contains(name.directory) else { return false }
        if let change = changes[name] {
          guard change.inode == number else { return false }
        } else {
          let there = try base.child(of: name.directory, named: name.name)?.inode.number
          guard there == number else { return false }
        }
      }
    }
    return true
  }
}

private struct RootedDirectories {
  private static let mostAbove = 4096
  private var known: Set<InodeNumber> = [.root]
  private let overlay: Overlay
  private let base: any Base

  init(overlay: Overlay, base: any Base) {
    self.overlay = overlay
    self.base = base
  }

  mutating func contains(_ directory: InodeNumber) throws(StoreError) -> Bool {
    var (number, way) = (directory, [InodeNumber]())
    while !known.contains(number) {
      guard way.count < Self.mostAbove, let place = try place(of: number) else { return false }
      way.append(number)
      number = place.directory
    }
    known.formUnion(way)
    return true
  }

  private func place(of directory: InodeNumber) throws(StoreError) -> InodeName? {
    guard overlay.nodes.contains(directory) else { return try base.names(of: directory).first }
    guard overlay.nodes.kind(of: directory) == .directory else { return nil }
    return overlay.nodes.place(of: directory)
  }
}
