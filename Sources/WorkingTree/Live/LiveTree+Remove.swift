import LLVSCore
import Platform
package import TreeNames

// Taking names away: unlink, rmdir, rename.

extension LiveTree {
  /// Removes a name that is not a directory's.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/isDirectory``.
  package func unlink(
    _ parent: UInt64, _ name: [UInt8], thread: Int32 = 0
  ) throws(FSError) {
    let process = threads.process(of: thread)
    try withRoom { () throws(FSError) in try journal.reserve(1024, isRemoval: true) }
    let (position, before) = try withChild(parent, name) { (directory, child) throws(FSError) in
      guard let child else { throw .noEntry }
      guard child.kind != .directory else { throw .isDirectory }
      defer { noteChange(at: name, of: directory, by: process) }
      return remove(child, at: name, of: directory)
    }
    try commit([position], orRestore: before)
  }

  /// Takes a name from a node; call with the lock held.
  private func remove(
    _ child: LiveNode, at name: [UInt8], of directory: LiveNode
  ) -> (Journal.Position, NamesBefore) {
    ensureJournaled(child)
    var before = NamesBefore([(directory, name)], removing: child, in: self)
    let position = perform(
      .remove(
        parent: directory.inode, name: name, time: Self.now(),
        epoch: min(emptyingEpoch(of: child) ?? epoch, epoch)))
    before.noteChange(in: self)
    return (position, before)
  }

  /// The epoch that somebody has seen who finds a directory empty: that of whoever took names out of it first;
  /// nil where nobody did. Call with the lock held.
  private func emptyingEpoch(of node: LiveNode) -> UInt64? {
    node.directory?.overrides.values.lazy.filter { $0.node == nil }.map(\.epoch).min()
  }

  /// Removes an empty directory.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/notEmpty``.
  package func removeDirectory(_ parent: UInt64, _ name: [UInt8]) throws(FSError) {
    try withRoom { () throws(FSError) in try journal.reserve(1024, isRemoval: true) }
    while true {
      let found = try withChild(parent, name) { (_, child) throws(FSError) -> Emptiness in
        guard let child else { throw .noEntry }
        guard child.kind == .directory else { throw .notDirectory }
        return emptiness(of: child)
      }
      try checkEmpty(found)
      let done = try withChild(parent, name) {
        (directory, child) throws(FSError) -> (Journal.Position, NamesBefore)? in
        guard let child, child.inode == found.inode,
          child.directory?.stamp == found.stamp, baseStamp == found.baseStamp
        else { return nil }
        return remove(child, at: name, of: directory)
      }
      if let (position, before) = done { return try commit([position], orRestore: before) }
    }
  }

  /// What has to be looked at to know whether a directory is empty, and what must not have changed.
  struct Emptiness {
    var inode: UInt64
    var stamp: UInt64
    var baseStamp: UInt64
    var view: TreeView
    var basePath: [UInt8]?
    var hasOverride: Bool
    var hidden: Set<[UInt8]>
  }

  /// Call with the lock held.
  func emptiness(of node: LiveNode) -> Emptiness {
    let directory = node.directory
    var hidden: Set<[UInt8]> = []
    var hasOverride = false
    for (name, override) in directory?.overrides ?? [:] {
      if override.node != nil { hasOverride = true } else { hidden.insert(name) }
    }
    return Emptiness(
      inode: node.inode, stamp: directory?.stamp ?? 0, baseStamp: baseStamp, view: base,
      basePath: directory?.basePath, hasOverride: hasOverride, hidden: hidden)
  }

  /// Call without the lock: reads the base.
  func checkEmpty(_ emptiness: Emptiness) throws(FSError) {
    guard !emptiness.hasOverride else { throw .notEmpty }
    guard let path = emptiness.basePath else { return }
    let isEmpty = try FSError.wrapping { () throws(StoreError) in
      var listing = emptiness.view.list(path)
      while let item = try listing.next() {
        if !emptiness.hidden.contains(item.name) { return false }
      }
      return true
    }
    guard isEmpty else { throw .notEmpty }
  }

  /// What rename(2) may be asked to do.
  package enum RenameMode: Sendable {
    case replacing
    case noReplace
    case exchange
  }

  /// Renames as rename(2) and renameat2(2) do.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/exists``, ``FSError/isDirectory``,
  ///   ``FSError/notDirectory``, ``FSError/notEmpty``, ``FSError/invalid`` into itself.
  package func rename(
    _ fromParent: UInt64, _ from: [UInt8], _ toParent: UInt64, _ to: [UInt8], mode: RenameMode,
    thread: Int32 = 0
  ) throws(FSError) {
    guard from.count <= 255, to.count <= 255 else { throw .nameTooLong }
    guard to != ReservedName.bytes, from != ReservedName.bytes else { throw .readOnly }
    try withRoom { () throws(FSError) in try journal.reserve(2048, isRemoval: true) }
    let process = threads.process(of: thread)
    confirm(process, toParent, to)
    if mode == .exchange { confirm(process, fromParent, from) }
    while true {
      let fromResolution = try resolve(fromParent, from)
      let toResolution = try resolve(toParent, to)
      enum Step {
        case again
        case done(Journal.Position, NamesBefore)
        case nothing
        case examine(Emptiness)
        case measure([Descent])
      }
      var examined: Emptiness?
      var isMeasured = false
      func attempt() throws(FSError) -> Step {
        try lock.withLock { _ throws(FSError) -> Step in
          let source = try directory(fromParent)
          let target = try directory(toParent)
          guard let found = child(of: source, from, fromResolution),
            let over = child(of: target, to, toResolution)
          else { return .again }
          defer {
            if let found { dropIfUnused(found) }
            if let over { dropIfUnused(over) }
          }
          guard let node = found else { throw .noEntry }
          guard target.inode == Self.rootInode || target.parent != nil else { throw .noEntry }
          try checkRename(node, from: source, over: over, into: target, mode: mode)
          if node === over { return .nothing }
          try checkReach(to, in: target)
          if mode == .exchange { try checkReach(from, in: source) }
          if !isMeasured {
            let descents = [
              descent(of: node, to: to, in: target),
              mode == .exchange ? over.flatMap { descent(of: $0, to: from, in: source) } : nil,
            ].compactMap(\.self)
            guard descents.isEmpty else { return .measure(descents) }
          }
          if let over, over.kind == .directory, mode == .replacing {
            let now = emptiness(of: over)
            guard let examined, examined.inode == now.inode, examined.stamp == now.stamp,
              examined.baseStamp == now.baseStamp
            else { return .examine(now) }
          }
          ensureJournaled(node)
          if let over { ensureJournaled(over) }
          ensureJournaled(target)
          var before = NamesBefore(
            [(source, from), (target, to)], removing: mode == .exchange ? nil : over, in: self)
          let seen = seen(by: process, at: to, of: target, over: over, renaming: node)
          let emptied = mode == .exchange ? nil : over.flatMap(emptyingEpoch)
          let toEpoch = min(seen ?? epoch, emptied ?? epoch, epoch)
          let change: Change
          var back: UInt64?
          if mode == .exchange, let over {
            back = self.seen(by: process, at: from, of: source, over: node, renaming: over)
            change = .exchange(
              fromParent: source.inode, from: from, toParent: target.inode, to: to,
              time: Self.now(), fromEpoch: min(back ?? epoch, epoch), toEpoch: toEpoch)
          } else {
            change = .rename(
              fromParent: source.inode, from: from, toParent: target.inode, to: to,
              exchange: false, time: Self.now(), epoch: toEpoch)
          }
          let position = perform(change)
          before.noteChange(in: self)
          if seen != nil { noteSaver(of: node, process) }
          if back != nil, let over { noteSaver(of: over, process) }
          noteChange(at: to, of: target, by: process)
          noteChange(at: from, of: source, by: process)
          // The kernel moved what it knew at the name, which an install may have replaced.
          let (old, new) = (
            KernelName(parent: source.kernelID, name: from),
            KernelName(parent: target.kernelID, name: to)
          )
          untoldNames?.move(from: old, to: new)
          if mode == .exchange { untoldNames?.move(from: new, to: old) }
          return .done(position, before)
        }
      }
      var step = try attempt()
      if case .measure(let descents) = step {
        for descent in descents { try check(descent) }
        isMeasured = true
        step = try attempt()
      }
      if case .examine(let emptiness) = step {
        try checkEmpty(emptiness)
        examined = emptiness
        step = try attempt()
      }
      switch step {
      case .nothing:
        return
      case .done(let position, let before):
        return try commit([position], orRestore: before)
      case .again, .examine, .measure:
        continue
      }
    }
  }

  private func checkRename(
    _ node: LiveNode, from source: LiveNode, over: LiveNode?, into target: LiveNode,
    mode: RenameMode
  ) throws(FSError) {
    if mode == .noReplace, over != nil { throw .exists }
    if mode == .exchange, over == nil { throw .noEntry }
    if node.kind == .directory, target.isInside(node) { throw .invalid }
    guard let over, over !== node else { return }
    if mode == .exchange {
      // The name that is moved says where, not the node: a file may have others elsewhere.
      if over.kind == .directory, source.isInside(over) { throw .invalid }
      return
    }
    if node.kind == .directory, over.kind != .directory { throw .notDirectory }
    if node.kind != .directory, over.kind == .directory {
      throw source.isInside(over) ? .notEmpty : .isDirectory
    }
    if over.kind == .directory, source.isInside(over) { throw .notEmpty }
  }
}
