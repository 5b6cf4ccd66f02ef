import LLVS
import Synchronization

/// Where files are edited with real editors: some names take effect when they are saved, all others are
/// scratch that only memory holds.
///
/// - Concurrency: any thread; a leaf lock, given up while a service works.
final class WritablePlace: Sendable {
  enum Kind { case peers, ignore }

  static let fileLimit = 1 << 20
  static let countLimit = 64

  struct State {
    var files: [[UInt8]: WritableFile] = [:]
    /// Names that editors moved away or replaced, while what they stood for is still in force.
    var hidden: Set<[UInt8]> = []
  }

  let kind: Kind
  let services: HiddenServices
  private let live: LiveTree
  let state = Mutex(State())
  /// Inode numbers, allotted by the tree's table.
  let allot: @Sendable () -> UInt64

  init(
    _ kind: Kind, services: HiddenServices, live: LiveTree,
    allot: @escaping @Sendable () -> UInt64
  ) {
    self.kind = kind
    self.services = services
    self.live = live
    self.allot = allot
  }

  static let ignoreName = Array("ignore".utf8)

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
  func stored(_ name: [UInt8]) throws(FSError) -> [UInt8]? {
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
}

extension HiddenServices.Peer {
  /// The address as the file shows it: a line.
  var shownAddress: [UInt8] { address.last == 0x0A ? address : address + [0x0A] }
}
