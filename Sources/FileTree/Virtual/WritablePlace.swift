import LLVS
import Synchronization

/// A file of a writable place.
///
/// Everything that changes is guarded by the lock of its place.
final class WritableFile: @unchecked Sendable, Hashable {
  struct State: Sendable {
    var bytes: [UInt8]
    var mode: UInt32 = 0o644
    var mtime: Attributes.Time
  }

  unowned let place: WritablePlace
  let inode: UInt64
  /// Nil once it was unlinked or replaced.
  var name: [UInt8]?
  var state: State
  /// Written or resized since it last took effect.
  var isDirty = false
  /// Holds what its name stands for: nothing is lost if it is dropped and read again.
  var isInEffect: Bool
  var handles = 0
  /// The name whose file this was before an editor moved it away.
  var movedFrom: [UInt8]?

  init(
    place: WritablePlace, inode: UInt64, name: [UInt8], bytes: [UInt8], isInEffect: Bool,
    mtime: Attributes.Time
  ) {
    self.place = place
    self.inode = inode
    self.name = name
    self.isInEffect = isInEffect
    state = State(bytes: bytes, mtime: mtime)
  }

  static func == (a: WritableFile, b: WritableFile) -> Bool { a === b }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Where files are edited with real editors: some names take effect when they are saved, all others are
/// scratch that only memory holds.
///
/// - Concurrency: any thread; a leaf lock, given up while a service works.
final class WritablePlace: Sendable {
  enum Kind { case peers, ignore }

  static let fileLimit = 1 << 20
  static let countLimit = 64

  private struct State {
    var files: [[UInt8]: WritableFile] = [:]
    /// Names that editors moved away or replaced, while what they stood for is still in force.
    var hidden: Set<[UInt8]> = []
  }

  let kind: Kind
  private let services: HiddenServices
  private let live: LiveTree
  private let state = Mutex(State())
  /// Inode numbers, allotted by the tree's table.
  private let allot: @Sendable () -> UInt64

  init(
    _ kind: Kind, services: HiddenServices, live: LiveTree,
    allot: @escaping @Sendable () -> UInt64
  ) {
    self.kind = kind
    self.services = services
    self.live = live
    self.allot = allot
  }

  private static let ignoreName = Array("ignore".utf8)

  /// Whether saved text takes effect under a name.
  func isEffective(_ name: [UInt8]) -> Bool {
    switch kind {
    case .ignore: return name == Self.ignoreName
    case .peers:
      guard let text = String(validating: name, as: UTF8.self), StoreName.fault(text) == nil else {
        return false
      }
      return !live.shownIgnore.ignores(path: name)
    }
  }

  // MARK: - Finding

  /// What a name stands for in the store; nil if nothing.
  private func stored(_ name: [UInt8]) throws(FSError) -> [UInt8]? {
    switch kind {
    case .ignore: return name == Self.ignoreName ? try services.ignore() : nil
    case .peers:
      return try services.peers().first { Array($0.name.utf8) == name }?.shownAddress
    }
  }

  func find(_ name: [UInt8]) throws(FSError) -> WritableFile? {
    let (known, isHidden, mayBeStored) = state.withLock { state in
      let file = state.files[name]
      return (file, state.hidden.contains(name), file.map { $0.isInEffect && !$0.isDirty } ?? true)
    }
    guard !isHidden || known != nil else { return nil }
    guard mayBeStored, !isHidden else { return known }
    let bytes = try stored(name)
    return state.withLock { state in
      if let file = state.files[name] {
        guard file.isInEffect, !file.isDirty else { return file }
        // Changed or removed by other means meanwhile.
        if let bytes {
          if !Self.isSame(file.state.bytes, bytes) { file.state.bytes = bytes }
          return file
        }
        state.files[name] = nil
        file.name = nil
        return nil
      }
      guard let bytes, !state.hidden.contains(name) else { return nil }
      let file = WritableFile(
        place: self, inode: allot(), name: name, bytes: bytes, isInEffect: true,
        mtime: LiveTree.now())
      state.files[name] = file
      return file
    }
  }

  /// A text and the same with a newline at its end say the same.
  private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a == b || a + [0x0A] == b
  }

  /// All names.
  func names() throws(FSError) -> [(name: [UInt8], inode: UInt64)] {
    var all: Set<[UInt8]> = []
    switch kind {
    case .ignore: all.insert(Self.ignoreName)
    case .peers: for peer in try services.peers() { all.insert(Array(peer.name.utf8)) }
    }
    state.withLock { state in
      all.subtract(state.hidden)
      all.formUnion(state.files.keys)
    }
    var names: [(name: [UInt8], inode: UInt64)] = []
    for name in all.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      if let file = try find(name) { names.append((name, file.inode)) }
    }
    return names
  }

  func look(_ file: WritableFile) -> WritableFile.State { state.withLock { _ in file.state } }

  /// Drops a file that the kernel forgot and that can be read again.
  func tidy(_ file: WritableFile) {
    state.withLock { state in
      guard file.handles == 0, file.isInEffect, !file.isDirty, let name = file.name,
        state.files[name] === file
      else { return }
      state.files[name] = nil
    }
  }

  // MARK: - Bytes

  func open(_ file: WritableFile, truncating: Bool) {
    state.withLock { _ in
      file.handles += 1
      guard truncating, !file.state.bytes.isEmpty else { return }
      file.state.bytes = []
      Self.touch(file)
    }
  }

  func close(_ file: WritableFile) {
    state.withLock { _ in file.handles -= 1 }
  }

  func isOpen(_ file: WritableFile) -> Bool { state.withLock { _ in file.handles > 0 } }

  private static func touch(_ file: WritableFile) {
    file.isDirty = true
    file.state.mtime = LiveTree.now()
  }

  func write(
    _ file: WritableFile, at offset: UInt64, _ bytes: UnsafeRawBufferPointer
  ) throws(FSError) {
    guard !bytes.isEmpty else { return }
    guard offset <= UInt64(Self.fileLimit), Int(offset) + bytes.count <= Self.fileLimit else {
      throw .fileTooBig
    }
    let start = Int(offset)
    state.withLock { _ in
      let missing = start - file.state.bytes.count
      if missing > 0 { file.state.bytes += [UInt8](repeating: 0, count: missing) }
      let end = min(start + bytes.count, file.state.bytes.count)
      file.state.bytes.replaceSubrange(start..<end, with: bytes)
      Self.touch(file)
    }
  }

  func resize(_ file: WritableFile, to size: UInt64) throws(FSError) {
    guard size <= UInt64(Self.fileLimit) else { throw .fileTooBig }
    state.withLock { _ in
      let missing = Int(size) - file.state.bytes.count
      guard missing != 0 else { return }
      if missing > 0 {
        file.state.bytes += [UInt8](repeating: 0, count: missing)
      } else {
        file.state.bytes.removeLast(-missing)
      }
      Self.touch(file)
    }
  }

  func change(_ file: WritableFile, mode: UInt32?, mtime: Attributes.Time?) {
    state.withLock { _ in
      if let mode { file.state.mode = mode & 0o777 }
      if let mtime { file.state.mtime = mtime }
    }
  }

  // MARK: - Taking effect

  /// Puts what was saved in force.
  ///
  /// An empty file changes nothing: a shell empties a file, and flushes it, before it writes.
  ///
  /// - Throws: ``FSError/invalid`` for what is no address; the file keeps its text, and what was in force
  ///   stays so.
  func save(_ file: WritableFile) throws(FSError) {
    let saved = state.withLock { _ -> ([UInt8], [UInt8])? in
      guard file.isDirty, let name = file.name else { return nil }
      return (name, file.state.bytes)
    }
    guard let (name, bytes) = saved, isEffective(name) else { return }
    if bytes.isEmpty, kind == .peers { return }
    try apply(name, bytes)
    state.withLock { state in
      guard file.name == name else { return }
      state.hidden.remove(name)
      guard file.state.bytes == bytes else { return }
      file.isDirty = false
      file.isInEffect = true
    }
  }

  private func apply(_ name: [UInt8], _ bytes: [UInt8]) throws(FSError) {
    switch kind {
    case .ignore: try services.setIgnore(bytes)
    case .peers:
      var address = bytes
      while let last = address.last, last == 0x0A || last == 0x0D { address.removeLast() }
      try services.setPeer(
        HiddenServices.Peer(name: String(decoding: name, as: UTF8.self), address: address))
    }
  }

  private func remove(stored name: [UInt8]) throws(FSError) {
    guard kind == .peers, let text = String(validating: name, as: UTF8.self) else { return }
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
    guard kind == .peers || name != Self.ignoreName else { throw .notPermitted }
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
    if takesEffect, !isReturning, !(bytes.isEmpty && kind == .peers) { try apply(to, bytes) }
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
        file.isInEffect = !bytes.isEmpty || kind == .ignore
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

extension HiddenServices.Peer {
  /// The address as the file shows it: a line.
  var shownAddress: [UInt8] { address.last == 0x0A ? address : address + [0x0A] }
}
