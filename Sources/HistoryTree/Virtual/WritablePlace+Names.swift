import Synchronization
import TreeNames
import WorkingTree

extension WritablePlace {
  /// Makes the saved text take effect. An empty file changes nothing, because a shell truncates and flushes before
  /// it writes. A merge with markers is a draft.
  /// - Throws: ``FSError/invalid`` for an invalid address, which the file keeps.
  func save(_ file: WritableFile) throws(FSError) {
    let saved = state.withLock { _ -> ([UInt8], [UInt8])? in
      guard file.isDirty, let name = file.name else { return nil }
      return (name, file.state.bytes)
    }
    guard let (name, bytes) = saved, isEffective(name) else { return }
    if bytes.isEmpty, ignoresEmptyText { return }
    let isInEffect = try apply(name, bytes)
    state.withLock { state in
      guard file.name == name else { return }
      if isInEffect { state.masked.remove(name) }
      guard file.state.bytes == bytes else { return }
      file.isDirty = false
      file.isInEffect = isInEffect
    }
  }

  /// True if an empty text is no setting: an empty ignore file is one.
  private var ignoresEmptyText: Bool {
    if case .ignore = kind { return false }
    return true
  }

  /// Makes a text take effect; false for a draft.
  private func apply(_ name: [UInt8], _ bytes: [UInt8]) throws(FSError) -> Bool {
    switch kind {
    case .ignore: try services.setIgnoreText(bytes)
    case .merged(let merged): return try merged.put(bytes, state.withLock { $0.seen })
    case .peers:
      var address = bytes
      while let last = address.last, last == 0x0A || last == 0x0D { address.removeLast() }
      try services.setPeer(
        MetaPeer(name: String(decoding: name, as: UTF8.self), address: address))
    }
    return true
  }

  private func remove(stored name: [UInt8]) throws(FSError) {
    guard case .peers = kind, let text = String(validating: name, as: UTF8.self) else { return }
    guard try stored(name) != nil else { return }
    try services.removePeer(text)
  }

  /// Makes an empty file; ``FSError/exists``, or ``FSError/noSpace`` if there are too many.
  func create(_ name: [UInt8], mode: UInt32) throws(FSError) -> WritableFile {
    guard try find(name) == nil else { throw .exists }
    let inode = allot()
    return try state.withLock { state throws(FSError) in
      guard state.files[name] == nil else { throw .exists }
      guard state.files.count < Self.countLimit else { throw .noSpace }
      let file = WritableFile(
        place: self, inode: inode, name: name, bytes: [], isInEffect: false,
        mtime: .now)
      file.state.mode = mode & 0o777
      state.files[name] = file
      return file
    }
  }

  /// Removes a peer or drops a scratch file; ``FSError/noEntry``, or ``FSError/notPermitted`` for ignore patterns.
  func unlink(_ name: [UInt8]) throws(FSError) {
    guard let file = try find(name) else { throw .noEntry }
    if case .ignore = kind, name == Self.ignoreName { throw .notPermitted }
    if isEffective(name) { try remove(stored: name) }
    let abandoned = state.withLock { state -> [UInt8]? in
      if state.files[name] === file { state.files[name] = nil }
      file.name = nil
      state.masked.remove(name)
      // An editor removes its backup: without a new file, the backed-up one is removed too.
      guard let former = file.movedFrom, state.masked.contains(former) else { return nil }
      state.masked.remove(former)
      return state.files[former] == nil ? former : nil
    }
    if let abandoned { try remove(stored: abandoned) }
  }

  /// Renames as rename(2) does; text under an effective name takes effect.
  /// - Throws: ``FSError/noEntry``, ``FSError/exists``, ``FSError/invalid`` for an invalid address.
  func rename(_ from: [UInt8], _ to: [UInt8], mode: RenameMode) throws(FSError) {
    guard mode != .exchange else { throw .invalid }
    guard let file = try find(from) else { throw .noEntry }
    let over = try find(to)
    if mode == .noReplace, over != nil { throw .exists }
    guard from != to, over !== file else { return }
    let bytes = look(file).bytes
    let takesEffect = isEffective(to)
    // A backup that is renamed back has the text in effect.
    let isReturning = state.withLock { _ in file.movedFrom == to && !file.isDirty }
    var isApplied = true
    if takesEffect, !isReturning, !(bytes.isEmpty && ignoresEmptyText) {
      isApplied = try apply(to, bytes)
    }
    var wasStored = false
    if isEffective(from) { wasStored = try stored(from) != nil }
    // A peer renamed to a valid name stays a peer; under a scratch name it may come back.
    if takesEffect, wasStored { try remove(stored: from) }
    state.withLock { state in
      if state.files[from] === file { state.files[from] = nil }
      if let over, state.files[to] === over {
        over.name = nil
        state.files[to] = nil
      }
      file.name = to
      state.files[to] = file
      if takesEffect {
        state.masked.remove(to)
        file.isInEffect = isApplied && (!bytes.isEmpty || !ignoresEmptyText)
        file.isDirty = isApplied && !file.isInEffect
        file.movedFrom = nil
      } else {
        file.isInEffect = false
        if wasStored {
          state.masked.insert(from)
          file.movedFrom = from
        }
      }
    }
  }
}
