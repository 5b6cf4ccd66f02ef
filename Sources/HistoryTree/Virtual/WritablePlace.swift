import Grammar
import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

/// A directory for ordinary editors: some names take effect when they are saved, others are scratch files.
/// - Concurrency: any thread; a leaf lock, released while a service runs.
final class WritablePlace: Sendable {
  enum Kind {
    case peers
    case ignore
    /// A conflict's merged text, and the files that editors leave next to it.
    case merged(MergedText)
  }

  struct MergedText: Sendable {
    /// Returns the merge with markers; nil if there is none.
    var text: @Sendable () throws(FSError) -> [UInt8]?
    /// Settles with a text that was made from the sides at a head; false for a draft with markers.
    var put: @Sendable ([UInt8], _ seen: VersionNumber?) throws(FSError) -> Bool
  }

  static let countLimit = 64

  var fileLimit: Int {
    if case .merged = kind { return 32 << 20 }
    return 1 << 20
  }

  struct State {
    var files: [[UInt8]: WritableFile] = [:]
    /// Names whose file an editor moved away while their text is still in effect.
    var masked: Set<[UInt8]> = []
    /// The head whose sides the last opener of an effective name saw.
    var seen: VersionNumber?
  }

  let kind: Kind
  let services: any MetaServices
  let live: TreeSession
  /// The memory for the files of this and similar places.
  let budget: MemoryBudget?
  let state = Mutex(State())
  let allot: @Sendable () -> UInt64

  init(
    _ kind: Kind, services: any MetaServices, live: TreeSession, budget: MemoryBudget? = nil,
    allot: @escaping @Sendable () -> UInt64
  ) {
    self.kind = kind
    self.budget = budget
    self.services = services
    self.live = live
    self.allot = allot
  }

  static let ignoreName = Array("ignore".utf8)
  static let mergedName = Array("merged".utf8)

  /// True if saving may make a version; it must then not run on a thread that the kernel waits for.
  var makesVersions: Bool {
    if case .merged = kind { return true }
    return false
  }

  /// True if a file is open, or has text that is not in effect.
  var isBusy: Bool {
    state.withLock { state in
      state.files.values.contains { $0.handles > 0 || $0.isDirty || !$0.isInEffect }
    }
  }

  func isEffective(_ name: [UInt8]) -> Bool {
    switch kind {
    case .ignore: return name == Self.ignoreName
    case .merged: return name == Self.mergedName
    case .peers:
      guard let text = String(validating: name, as: UTF8.self), StoreName.fault(text) == nil else {
        return false
      }
      return !live.ignorePatterns.ignores(path: name)
    }
  }

  /// Returns the text in effect.
  func stored(_ name: [UInt8]) throws(FSError) -> [UInt8]? {
    switch kind {
    case .ignore: return name == Self.ignoreName ? try services.ignoreText() : nil
    case .merged(let merged): return name == Self.mergedName ? try merged.text() : nil
    case .peers:
      return try services.peers().first { Array($0.name.utf8) == name }.map { peer in
        peer.address.last == 0x0A ? peer.address : peer.address + [0x0A]
      }
    }
  }

  func find(_ name: [UInt8]) throws(FSError) -> WritableFile? {
    let (known, isMasked, mayBeStored) = state.withLock { state in
      let file = state.files[name]
      return (file, state.masked.contains(name), file.map { $0.isInEffect && !$0.isDirty } ?? true)
    }
    guard !isMasked || known != nil else { return nil }
    guard mayBeStored, !isMasked else { return known }
    let bytes = try stored(name)
    return state.withLock { state in
      if let file = state.files[name] {
        guard file.isInEffect, !file.isDirty else { return file }
        // Another command changed or removed the text.
        if let bytes {
          if bytes != file.state.bytes + [0x0A] { file.state.bytes = bytes }
          return file
        }
        // The conflict was settled; an editor that still writes continues with the value itself.
        if makesVersions, file.handles > 0 { return file }
        state.files[name] = nil
        file.name = nil
        return nil
      }
      guard let bytes, !state.masked.contains(name) else { return nil }
      let file = WritableFile(
        place: self, inode: allot(), name: name, bytes: bytes, isInEffect: true,
        mtime: .now)
      state.files[name] = file
      return file
    }
  }

  func names() throws(FSError) -> [(name: [UInt8], inode: UInt64)] {
    var all: Set<[UInt8]> = []
    switch kind {
    case .ignore: all.insert(Self.ignoreName)
    case .peers: for peer in try services.peers() { all.insert(Array(peer.name.utf8)) }
    case .merged: all.insert(Self.mergedName)
    }
    state.withLock { state in
      all.subtract(state.masked)
      all.formUnion(state.files.keys)
    }
    var names: [(name: [UInt8], inode: UInt64)] = []
    for name in all.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      if let file = try find(name) { names.append((name, file.inode)) }
    }
    return names
  }

  /// Drops all files. Each keeps its place until then, so open ones can still be used.
  func leave() {
    state.withLock { state in
      state.files = [:]
      state.masked = []
    }
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

  func open(_ file: WritableFile, truncating: Bool) {
    let head = live.shownHead
    state.withLock { state in
      file.handles += 1
      if !truncating, file.isInEffect, !file.isDirty { state.seen = head }
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
    file.state.mtime = .now
  }

  func write(
    _ file: WritableFile, at offset: UInt64, _ bytes: UnsafeRawBufferPointer
  ) throws(FSError) {
    guard !bytes.isEmpty else { return }
    guard offset <= UInt64(fileLimit), Int(offset) + bytes.count <= fileLimit else {
      throw .fileTooBig
    }
    let start = Int(offset)
    try file.charge?.reach(start + bytes.count)
    state.withLock { _ in
      let missing = start - file.state.bytes.count
      if missing > 0 { file.state.bytes += [UInt8](repeating: 0, count: missing) }
      let end = min(start + bytes.count, file.state.bytes.count)
      file.state.bytes.replaceSubrange(start..<end, with: bytes)
      Self.touch(file)
    }
  }

  func resize(_ file: WritableFile, to size: UInt64) throws(FSError) {
    guard size <= UInt64(fileLimit) else { throw .fileTooBig }
    try file.charge?.reach(Int(size))
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
}
