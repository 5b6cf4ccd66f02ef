package import Inodes
import LLVSCore
import Platform
package import TreeNames

// Extended attributes and access control lists. The long ones of recorded inodes stay in the head's map.

/// The flags of setxattr(2).
package struct ExtendedMode: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// An existing attribute is an error.
  package static let create = ExtendedMode(rawValue: 1)
  /// A missing attribute is an error.
  package static let replace = ExtendedMode(rawValue: 2)
}

extension WorkingTree {
  static let longestExtendedValue = 65_536
  private static let userPrefix = Array("user.".utf8)
  private static let securityPrefix = Array("security.".utf8)
  package static let ownPrefix = Array("user.llvs.".utf8)

  /// Returns the value of an extended attribute. Throws ``FSError/noData`` if there is none,
  /// ``FSError/notSupported`` for a name neither in `user.` nor of an access control list, ``FSError/stale``,
  /// ``FSError/store(_:)``.
  package func getxattr(_ number: InodeNumber, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    if ExtendedName.isACL(name) { return try accessList(number, name) }
    guard name.starts(with: Self.userPrefix) else {
      // The kernel asks on every write, so the answer is made without a look-up.
      if name.starts(with: Self.securityPrefix) { throw .noData }
      throw .notSupported
    }
    guard name.count > Self.userPrefix.count else { throw .invalid }
    if name.starts(with: Self.ownPrefix) {
      let own = Array(name.dropFirst(Self.ownPrefix.count))
      guard let value = try head.ownAttribute(own, of: try statedPlace(of: number)) else {
        throw .noData
      }
      return value
    }
    return try answer { state, base throws(FSError) in
      let whole = try wholeAttributes(of: number, state, base).attributes
      guard let found = whole.extended.first(where: { $0.name == name }) else { throw .noData }
      return found.value
    }
  }

  private func accessList(_ number: InodeNumber, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      let known = try knownAttributes(of: number, state, base)
      let mode = defaults.mode(known.attributes, of: known.kind)
      guard let value = known.attributes.shownACL(name, of: known.kind, mode: mode) else {
        throw .noData
      }
      return value
    }
  }

  /// Returns the names of all extended attributes but the store's own, each followed by a zero byte.
  package func listxattr(_ number: InodeNumber) throws(FSError) -> [UInt8] {
    try answer { state, base throws(FSError) in
      try wholeAttributes(of: number, state, base).attributes.extended.flatMap { $0.name + [0] }
    }
  }

  /// Sets an extended attribute. An access control list without entries is removed; one that a mode can express
  /// becomes the mode. A list that changes the mode removes `lostSetIDs`. Process 0 is unknown. Throws
  /// ``FSError/exists``, ``FSError/noData``, ``FSError/tooBig``, ``FSError/outOfRange`` for too long a name,
  /// ``FSError/notSupported``, ``FSError/notPermitted``, ``FSError/accessDenied``, ``FSError/invalid`` for a
  /// malformed list, ``FSError/noSpace`` for more than a version can hold, ``FSError/stale``, or the error of the
  /// journal: then nothing has changed.
  package func setxattr(
    _ number: InodeNumber, _ name: [UInt8], _ value: [UInt8], mode: ExtendedMode = [],
    lostSetIDs: UInt32 = 0, process: Int32 = 0
  ) throws(FSError) {
    try checkExtended(name)
    guard value.count <= Self.longestExtendedValue else { throw .tooBig }
    if ExtendedName.isACL(name) {
      if PosixACL.isNone(value) { return try removexattr(number, name, process: process) }
      return try changeExtended(of: number, process) { known, _ throws(FSError) in
        try setList(name, to: value, of: known, lostSetIDs)
      }
    }
    try changeExtended(of: number, process) { known, whole throws(FSError) in
      guard known.kind == .regular || known.kind == .directory else { throw .notPermitted }
      let old = whole.extended.first { $0.name == name }
      if mode.contains(.create), old != nil { throw .exists }
      if mode.contains(.replace), old == nil { throw .noData }
      if old?.value == value { return nil }
      var changed = KnownAttributes(kind: known.kind, attributes: whole, lacksExtended: false)
      changed.attributes.setExtended(value, name)
      return changed
    }
  }

  /// Removes an extended attribute; a missing access control list is no error. Throws ``FSError/noData``, and as
  /// ``setxattr(_:_:_:mode:lostSetIDs:process:)``.
  package func removexattr(
    _ number: InodeNumber, _ name: [UInt8], process: Int32 = 0
  ) throws(FSError) {
    try checkExtended(name)
    let isList = ExtendedName.isACL(name)
    try changeExtended(of: number, process) { known, whole throws(FSError) in
      guard whole.extended.contains(where: { $0.name == name }) else {
        if isList { return nil }
        throw .noData
      }
      // The lists exist even where long attributes are not read.
      var changed = known
      if !isList { (changed.attributes, changed.lacksExtended) = (whole, false) }
      changed.attributes.setExtended(nil, name)
      return changed
    }
  }

  private func checkExtended(_ name: [UInt8]) throws(FSError) {
    guard name.count <= 255 else { throw .outOfRange }
    guard !ExtendedName.isACL(name) else { return }
    guard name.starts(with: Self.userPrefix) else { throw .notSupported }
    // As ext4: a name space without a name.
    guard name.count > Self.userPrefix.count else { throw .invalid }
    guard !name.starts(with: Self.ownPrefix) else { throw .notPermitted }
  }

  /// Changes the extended attributes of an inode to what `body` makes of the known and the whole ones; nil changes
  /// nothing.
  private func changeExtended(
    of number: InodeNumber, _ process: Int32,
    _ body: (KnownAttributes, Attributes) throws(FSError) -> KnownAttributes?
  ) throws(FSError) {
    try withRoom { () throws(FSError) in
      try change(by: process) { state, base throws(FSError) in
        let (known, whole) = try wholeAttributes(of: number, state, base)
        guard let changed = try body(known, whole) else { return Decision { _ in } }
        // An attribute that no version can hold is refused now.
        var lasting = changed.attributes
        if changed.lacksExtended { lasting = lasting.completed(with: whole.extended) }
        guard lasting.fault == nil else { throw .noSpace }
        return Decision(
          concerned: [number],
          operations: [
            .attributes(number, changed.attributes, lacksExtended: changed.lacksExtended)
          ]
        ) { _ in }
      }
    }
  }

  /// Returns attributes with an access control list and its mode; nil if they have both.
  private func setList(
    _ name: [UInt8], to value: [UInt8], of known: KnownAttributes, _ lostSetIDs: UInt32
  ) throws(FSError) -> KnownAttributes? {
    guard known.kind != .symlink else { throw .notSupported }
    guard let list = PosixACL(value) else { throw .invalid }
    var changed = known
    if name == ExtendedName.accessACL {
      changed.attributes.set(list.isMode ? nil : list, name)
      let mode = defaults.mode(changed.attributes, of: known.kind)
      changed.attributes.mode = (mode & 0o7000 | list.mode) & ~lostSetIDs
    } else {
      guard known.kind == .directory else { throw .accessDenied }
      changed.attributes.set(list, name)
    }
    return changed.attributes == known.attributes ? nil : changed
  }

  /// Returns the known attributes of an inode, and those with the long extended ones.
  func wholeAttributes(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> (known: KnownAttributes, attributes: Attributes) {
    try checkIsShown(number, state, base)
    let known = try knownAttributes(of: number, state, base)
    guard known.lacksExtended else { return (known, known.attributes) }
    let extended = try longExtended(of: number, state, base)
    return (known, known.attributes.completed(with: extended))
  }

  private func longExtended(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [Attributes.Extended] {
    let recorded = try FSError.translating(try base.inode(number))
    if recorded?.record.lacksExtended ?? false { return try base.extended(of: number) }
    // A new head has other attributes or none, so the version shown before is read.
    guard let node = state.overlay.nodes.node(number),
      let path = Self.path(of: node, state.overlay),
      let version = state.epochs[Self.epoch(of: node, state.overlay)]
    else { throw .store(.corrupt("no version has the extended attributes of a file any more")) }
    return try base.extended(at: path, in: VersionNumber(version))
  }

  /// The path of a pending file, or the one where a new head took its name.
  private static func path(of node: PendingNode, _ overlay: Overlay) -> TreePath? {
    if case .detached(let place, let path, _)? = node.orphan {
      return path ?? place.flatMap { place in overlay.path(of: place) }
    }
    return node.names.first.flatMap { overlay.path(of: $0) }
  }

  private static func epoch(of node: PendingNode, _ overlay: Overlay) -> Epoch {
    if case .detached(_, _, let epoch)? = node.orphan { return epoch }
    return node.on.older(node.names.first.flatMap { overlay.changes[$0]?.on }) ?? overlay.epoch
  }
}

extension Overlay {
  fileprivate func path(of place: InodeName) -> TreePath? {
    path(of: place.directory)?.appending(place.name)
  }
}
