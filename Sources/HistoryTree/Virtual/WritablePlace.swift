import Grammar
import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

/// Where files are edited with real editors: some names take effect when they are saved, all others are
/// scratch that only memory holds.
///
/// - Concurrency: any thread; a leaf lock, given up while a service works.
final class WritablePlace: Sendable {
  enum Kind {
    case peers
    case ignore
    /// A conflict's merged text, with what editors leave beside it.
    case merged(MergedText)
  }

  /// What stands behind the name `merged` of a conflict.
  struct MergedText: Sendable {
    /// The merge with markers; nil where the conflict is none, or none of texts.
    var text: @Sendable () throws(FSError) -> [UInt8]?
    /// Settles with what was saved, which was made of the sides that a head had.
    var put: @Sendable ([UInt8], _ seen: VersionNumber?) throws(FSError) -> Void
  }

  static let countLimit = 64

  /// The longest file.
  var fileLimit: Int {
    if case .merged = kind { return 32 << 20 }
    return 1 << 20
  }

  struct State {
    var files: [[UInt8]: WritableFile] = [:]
    /// Names that editors moved away or replaced, while what they stood for is still in force.
    var hidden: Set<[UInt8]> = []
    /// The head whose sides were shown to who last opened what stands behind a name.
    var seen: VersionNumber?
  }

  let kind: Kind
  let services: MetaServices
  let live: LiveTree
  /// What all files of this and like places may take together.
  let budget: MemoryBudget?
  let state = Mutex(State())
  /// Inode numbers, allotted by the tree's table.
  let allot: @Sendable () -> UInt64

  init(
    _ kind: Kind, services: MetaServices, live: LiveTree, budget: MemoryBudget? = nil,
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

  /// Whether saving may make a version, and so must not be done by a thread that the kernel waits for.
  var makesVersions: Bool {
    if case .merged = kind { return true }
    return false
  }

  /// Whether an editor is at work: something is open, or stands here that nothing else holds.
  var isBusy: Bool {
    state.withLock { state in
      state.files.values.contains { $0.handles > 0 || $0.isDirty || !$0.isInEffect }
    }
  }

  /// Whether saved text takes effect under a name.
  func isEffective(_ name: [UInt8]) -> Bool {
    switch kind {
    case .ignore: return name == Self.ignoreName
    case .merged: return name == Self.mergedName
    case .peers:
      guard let text = String(validating: name, as: UTF8.self), StoreName.fault(text) == nil else {
        return false
      }
      return !live.shownIgnore.ignores(path: name)
    }
  }

  // MARK: - Finding

  /// What a name stands for in the store; nil if nothing.
  func stored(_ name: [UInt8]) throws(FSError) -> [UInt8]? {
    switch kind {
    case .ignore: return name == Self.ignoreName ? try services.ignore() : nil
    case .merged(let merged): return name == Self.mergedName ? try merged.text() : nil
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
        // Settled; who still writes it goes on with the value itself.
        if makesVersions, file.handles > 0 { return file }
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
    case .merged: all.insert(Self.mergedName)
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

  /// Lets go of all files, whose place has lost its name: what is open goes on, and is saved as before.
  ///
  /// Files and their place hold each other until then.
  func leave() {
    state.withLock { state in
      state.files = [:]
      state.hidden = []
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
}

extension MetaServices.Peer {
  /// The address as the file shows it: a line.
  var shownAddress: [UInt8] { address.last == 0x0A ? address : address + [0x0A] }
}
