import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

// When what was saved takes effect, and what names come to stand for.

extension WritablePlace {
  // MARK: - Taking effect

  /// Puts what was saved in force.
  ///
  /// An empty file changes nothing: a shell empties a file, and flushes it, before it writes.
  ///
  /// - Throws: ``FSError/invalid`` for what is no address, and for a merge that holds markers; the file
  ///   keeps its text, and what was in force stays so.
  func save(_ file: WritableFile) throws(FSError) {
    let saved = state.withLock { _ -> ([UInt8], [UInt8])? in
      guard file.isDirty, let name = file.name else { return nil }
      return (name, file.state.bytes)
    }
    guard let (name, bytes) = saved, isEffective(name) else { return }
    if bytes.isEmpty, emptySaysNothing { return }
    try apply(name, bytes)
    state.withLock { state in
      guard file.name == name else { return }
      state.hidden.remove(name)
      guard file.state.bytes == bytes else { return }
      file.isDirty = false
      file.isInEffect = true
    }
  }

  /// Whether an empty text takes no effect.
  private var emptySaysNothing: Bool {
    if case .ignore = kind { return false }
    return true
  }

  private func apply(_ name: [UInt8], _ bytes: [UInt8]) throws(FSError) {
    switch kind {
    case .ignore: try services.setIgnore(bytes)
    case .merged(let merged): try merged.put(bytes, state.withLock { $0.seen })
    case .peers:
      var address = bytes
      while let last = address.last, last == 0x0A || last == 0x0D { address.removeLast() }
      try services.setPeer(
        MetaServices.Peer(name: String(decoding: name, as: UTF8.self), address: address))
    }
  }

  private func remove(stored name: [UInt8]) throws(FSError) {
    guard case .peers = kind, let text = String(validating: name, as: UTF8.self) else { return }
    guard try stored(name) != nil else { return }
    try services.removePeer(text)
  }

  // MARK: - Names

  /// Makes an empty file.
  ///
  /// - Throws: ``FSError/exists``, ``FSError/noSpace`` when there are too many.
  func create(_ name: [UInt8], mode: UInt32) throws(FSError) -> WritableFile {
    guard try find(name) == nil else { throw .exists }
    let inode = allot()
    return try state.withLock { state throws(FSError) in
      guard state.files[name] == nil else { throw .exists }
      guard state.files.count < Self.countLimit else { throw .noSpace }
      let file = WritableFile(
        place: self, inode: inode, name: name, bytes: [], isInEffect: false,
        mtime: LiveTree.now())
      file.state.mode = mode & 0o777
      state.files[name] = file
      return file
    }
  }

  /// Forgets a peer, or drops a scratch file.
  ///
  /// - Throws: ``FSError/noEntry``; ``FSError/notPermitted`` for the ignore patterns.
  func unlink(_ name: [UInt8]) throws(FSError) {
    guard let file = try find(name) else { throw .noEntry }
    if case .ignore = kind, name == Self.ignoreName { throw .notPermitted }
    if isEffective(name) { try remove(stored: name) }
    let abandoned = state.withLock { state -> [UInt8]? in
      if state.files[name] === file { state.files[name] = nil }
      file.name = nil
      state.hidden.remove(name)
      // The editor's backup goes: if nothing took the place of what it was, that is gone too.
      guard let former = file.movedFrom, state.hidden.contains(former) else { return nil }
      state.hidden.remove(former)
      return state.files[former] == nil ? former : nil
    }
    if let abandoned { try remove(stored: abandoned) }
  }

  /// Renames as rename(2) does; what takes effect under the new name does so now.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/exists``, ``FSError/invalid`` for what is no address.
  func rename(_ from: [UInt8], _ to: [UInt8], mode: LiveTree.RenameMode) throws(FSError) {
    guard mode != .exchange else { throw .invalid }
    guard let file = try find(from) else { throw .noEntry }
    let over = try find(to)
    if mode == .noReplace, over != nil { throw .exists }
    guard from != to, over !== file else { return }
    let bytes = look(file).bytes
    let takesEffect = isEffective(to)
    // A backup that comes back is what is in force already.
    let isReturning = state.withLock { _ in file.movedFrom == to && !file.isDirty }
    if takesEffect, !isReturning, !(bytes.isEmpty && emptySaysNothing) { try apply(to, bytes) }
    var wasStored = false
    if isEffective(from) { wasStored = try stored(from) != nil }
    // A peer that gets another valid name is that peer; one that is moved to a scratch name comes back.
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
        state.hidden.remove(to)
        file.isInEffect = !bytes.isEmpty || !emptySaysNothing
        file.isDirty = !file.isInEffect
        file.movedFrom = nil
      } else {
        file.isInEffect = false
        if wasStored {
          state.hidden.insert(from)
          file.movedFrom = from
        }
      }
    }
  }
}
