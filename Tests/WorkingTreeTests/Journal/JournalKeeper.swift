import Inodes
import LLVSCore
import Platform
import TestSupport

@testable import TreeSupport
@testable import WorkingTree

/// An overlay of which all changes go through a journal, as the owner of a journal keeps it.
final class JournalKeeper: Sendable {
  struct State {
    var overlay: Overlay
    /// The overlay at the instant of a cut.
    var frozen: Overlay?
    var epochs: [Epoch: UInt32]
    var nextNumber: UInt64
  }

  static let store = Array("store".utf8)

  let directory: String
  let journal: Journal
  let recovery: JournalRecovery
  let unsettled: TakingRecord?
  /// Held by who appends.
  let state: Monitor<State>
  let reports = Monitor<[String]>([])

  /// Opens the journal in a directory and begins it anew.
  init(
    _ directory: String, boot: String = "boot", store: [UInt8] = JournalKeeper.store,
    lastCut: UInt64 = 0, isRenewed: Bool = true
  ) throws {
    self.directory = directory
    let reports = reports
    let opened = try Journal.open(
      directory, owner: JournalOwner(storeID: store, bootID: Array(boot.utf8)), lastCut: lastCut
    ) { text in reports.withLock { $0.append(text) } }
    (journal, recovery, unsettled) = (opened.journal, opened.recovery, opened.unsettled)
    let last = opened.overlay.nodes.map(\.key.rawValue).max() ?? 0
    state = Monitor(
      State(
        overlay: opened.overlay, epochs: opened.epochs, nextNumber: max(100, last + 1)))
    if isRenewed { try renew() }
  }

  var overlay: Overlay { state.withLock { $0.overlay } }

  @discardableResult
  func renew(isForced: Bool = true) throws -> [String] {
    try journal.renew(isForced: isForced) {
      state.withLock {
        var image = JournalImage(
          overlay: $0.overlay, epochs: $0.epochs, instant: journal.instant)
        if $0.overlay.isCutting { image.frozen = $0.frozen }
        return image
      }
    } adopt: { moves in
      state.withLock { $0.overlay.apply(moves) }
    }
  }

  func collect() throws { try journal.collect { LiveBytes(of: overlay) } }

  // MARK: - What programs do

  func append(_ operations: Change.Operation..., freeing: Bool = false) throws {
    try state.withLock { s in
      let changes = operations.map { Change(time: Attributes.Time(seconds: 1, nanoseconds: 0), $0) }
      try journal.append(changes, mayUseReserve: freeing)
      for change in changes { s.overlay.apply(change) }
    }
  }

  static func place(_ name: String) -> InodeName {
    InodeName(directory: .root, name: FileName(Array(name.utf8)))
  }

  func number(_ name: String) -> InodeNumber? { overlay.changes[Self.place(name)]?.inode }

  @discardableResult
  func create(_ name: String) throws -> InodeNumber {
    let number = state.withLock { s in
      s.nextNumber += 1
      return InodeNumber(s.nextNumber)
    }
    try append(
      .create(
        number, at: Self.place(name), kind: .regular, attributes: Attributes(),
        content: FileContent(), isSaved: false, seen: nil))
    return number
  }

  /// A symbolic link, which is made with its target, and saved at once.
  @discardableResult
  func symlink(_ name: String, _ target: [UInt8]) throws -> InodeNumber {
    let number = state.withLock { s in
      s.nextNumber += 1
      return InodeNumber(s.nextNumber)
    }
    var content = FileContent()
    for extent in try Self.stage(target, at: 0, in: journal) { content.write(extent) }
    try append(
      .create(
        number, at: Self.place(name), kind: .symlink, attributes: Attributes(), content: content,
        isSaved: true, seen: nil))
    return number
  }

  func write(_ number: InodeNumber, _ bytes: [UInt8], at offset: UInt64 = 0) throws {
    let extents = try Self.stage(bytes, at: offset, in: journal)
    for extent in extents { try append(.write(number, extent, [], seen: nil)) }
  }

  static func stage(
    _ bytes: [UInt8], at offset: UInt64, in journal: Journal
  ) throws -> [Extent] {
    guard !bytes.isEmpty else { return [] }
    return try bytes.withUnsafeBytes { raw in
      Result { () throws(StoreError) in try [journal.stage(raw, at: offset)] }
    }.get()
  }

  /// A new file of some bytes, closed.
  func save(_ name: String, _ bytes: [UInt8]) throws {
    let number = try number(name) ?? create(name)
    try append(.resize(number, to: 0, [], seen: nil))
    try write(number, bytes)
    try append(.save(number), freeing: true)
  }

  func unlink(_ name: String) throws {
    guard let number = number(name) else { return }
    try append(.unlink(Self.place(name), of: number, isKept: false), freeing: true)
  }

  /// The bytes of a file; nil if there is none of that name.
  func bytes(_ name: String) throws -> [UInt8]? {
    guard let number = number(name), let content = overlay.nodes[number]?.file?.content else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(content.size))
    var extents: [Extent] = []
    content.extents.forEach { extents.append($0) }
    for extent in extents {
      let part = try Self.read(extent, from: journal)
      bytes.replaceSubrange(Int(extent.start)..<Int(extent.end), with: part)
    }
    return bytes
  }

  static func read(_ extent: Extent, from journal: Journal) throws -> [UInt8] {
    var part = [UInt8](repeating: 0, count: Int(extent.length))
    try part.withUnsafeMutableBytes { raw in
      Result { () throws(StoreError) in
        try journal.read(extent.source, at: extent.offset, into: raw)
      }
    }.get()
    return part
  }

  func text(_ name: String) throws -> String? {
    try bytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  func save(_ name: String, _ text: String) throws { try save(name, Array(text.utf8)) }

  // MARK: - Files

  /// The journal file with the greatest number.
  static func newest(_ directory: String) throws -> String {
    let names = try FileSystem.list(directory).filter { $0.hasSuffix(".journal") }
    return "\(directory)/\(names.max() ?? "")"
  }

  /// Makes a copy of a journal's directory, as it is there for the kernel.
  static func copy(_ directory: String, to target: String) throws {
    try FileSystem.makeDirectory(target)
    for name in try FileSystem.list(directory) {
      let bytes = try FileSystem.read("\(directory)/\(name)", atMost: 1 << 28)
      try File("\(target)/\(name)", [.readWrite, .create]).write(bytes, at: 0)
    }
  }
}
