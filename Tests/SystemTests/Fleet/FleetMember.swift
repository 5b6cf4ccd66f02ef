import Control
import Events
import Grammar
import HistoryTree
import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeNames
import WorkingTree

@testable import TreeSupport

/// One store of a fleet: its live tree as a mount has it, with its commands, seen through a kernel's memory.
final class FleetMember {
  let path: String
  let number: Int
  private var mounted: Mounted?

  private struct Mounted {
    let service: ControlService
    let kernel: KernelModel
    let listener: Listener
  }

  /// What stands at a path, without what is each store's own.
  struct Shown: Hashable {
    var kind: EntryKind
    var mode: UInt32
    var bytes: [UInt8] = []
    var extended: [[UInt8]: [UInt8]] = [:]
    /// All names of the file, this one among them.
    var names: [String] = []

    /// The same without the names.
    var alone: Shown {
      var shown = self
      shown.names = []
      return shown
    }

    var text: String {
      let bytes = bytes.count > 60 ? Array(bytes.prefix(60)) + Array("...".utf8) : bytes
      let names = names.count > 1 ? " \(names)" : ""
      let extended = extended.map {
        String(decoding: $0.key, as: UTF8.self) + "=" + String(decoding: $0.value, as: UTF8.self)
      }
      return
        "\(kind) \(String(mode, radix: 8)) \(String(reflecting: String(decoding: bytes, as: UTF8.self)))"
        + " \(extended.sorted())\(names)"
    }
  }

  /// Told from within a transition; the kernel's memory is its only thread's.
  private final class Listener: @unchecked Sendable {
    // Unchecked: a fleet does one thing at a time.
    var kernel: KernelModel?
    var meanwhile: (() -> Void)?

    func take(_ told: [KernelNotice]) {
      meanwhile?()
      guard let meanwhile, told.count > 1 else {
        kernel?.take(told)
        self.meanwhile?()
        return
      }
      kernel?.take(Array(told[..<(told.count / 2)]))
      meanwhile()
      kernel?.take(Array(told[(told.count / 2)...]))
      meanwhile()
    }
  }

  init(_ directory: String, number: Int) throws {
    path = directory + "/s\(number)"
    self.number = number
    try mount()
  }

  var service: ControlService {
    guard let mounted else { preconditionFailure("a member that is not mounted") }
    return mounted.service
  }

  var kernel: KernelModel {
    guard let mounted else { preconditionFailure("a member that is not mounted") }
    return mounted.kernel
  }

  var store: Store { service.store }

  /// What happens while the kernel is told: before that, half way, and behind it.
  func whileTelling(_ meanwhile: (() -> Void)?) { mounted?.listener.meanwhile = meanwhile }

  func mount() throws {
    let store = try Store.open(path: path, mode: .writer, create: true)
    var faults: [String] = []
    let settings = StoreSettings(stored: try store.state().settings, faults: &faults)
    let log = EventLog(directory: path)
    let listener = Listener()
    let (tree, recovery) = try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 1000, gid: 1000), ignore: .defaults,
      settings: settings, log: log
    ) { [weak listener] in listener?.take($0) }
    guard recovery.losses.isEmpty else { throw Fleet.Difference("\(recovery.losses)") }
    let kernel = KernelModel(tree)
    listener.kernel = kernel
    mounted = Mounted(
      service: ControlService(tree, log: log),
      kernel: kernel, listener: listener)
  }

  /// Leaves the files as a killed daemon does.
  func kill() {
    mounted = nil
  }

  @discardableResult
  func run(
    _ line: String, context: CommandContext = CommandContext()
  ) throws -> CommandResult {
    var script = try ControlScript(Array(line.utf8))
    guard let command = try script.next() else { throw ControlError(.grammar, "empty") }
    return try service.run(command, context: context)
  }

  func versionCount() throws -> UInt32 { try store.state().lastNumber }

  func head() throws -> VersionNumber? { try store.state().head }

  /// Grows whenever a head is put under the tree, whatever head that is.
  func installations() throws -> Int64 {
    try store.headLog(before: .max, limit: 1) { _ in }.first?.sequence ?? 0
  }

  // MARK: - What is there

  /// Every path and what it shows, without bytes.
  func paths() throws -> [(path: String, kind: EntryKind)] {
    var found: [(String, EntryKind)] = []
    func visit(_ id: UInt64, _ path: String) throws {
      for item in try kernel.list(id).sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
        let below = Self.join(path, item.name)
        found.append((below, item.kind))
        guard item.kind == .directory, let next = try kernel.node(item.name, in: id) else {
          continue
        }
        try visit(next, below)
      }
    }
    try kernel.again {
      found = []
      try visit(TreeSession.rootInode, "")
    }
    return found
  }

  private static func join(_ path: String, _ name: [UInt8]) -> String {
    let name = String(decoding: name, as: UTF8.self)
    return path.isEmpty ? name : path + "/" + name
  }

  /// The tree as programs see it.
  ///
  /// - Throws: where it contradicts itself.
  func live() throws -> [String: Shown] { try live(through: kernel) }

  /// The tree as it is, whatever the kernel remembers.
  func tree() throws -> [String: Shown] {
    let fresh = KernelModel(service.tree)
    defer { fresh.forgetAll() }
    return try live(through: fresh, isPending: true)
  }

  /// Where `isPending`, a file that is shown under its name and under that which a merge gave it has two
  /// numbers until the next version.
  private func live(
    through kernel: KernelModel, isPending: Bool = false
  ) throws -> [String: Shown] {
    var found: [String: Shown] = [:]
    var files: [UInt64: [String]] = [:]
    var counts: [UInt64: UInt32] = [:]
    func visit(_ directory: UInt64, _ path: String) throws {
      let items = try kernel.list(directory)
      let links = try kernel.status(directory).links
      guard links == 2 + items.count(where: { $0.kind == .directory }) else {
        throw Fleet.Difference("m\(number) \(path): \(links) links")
      }
      for item in items {
        let below = Self.join(path, item.name)
        guard let id = try kernel.node(item.name, in: directory) else {
          throw Fleet.Difference("m\(number) \(below) is listed and not there")
        }
        let status = try kernel.status(id)
        guard status.inode == item.inode, status.kind == item.kind else {
          throw Fleet.Difference(
            "m\(number) \(below) is listed as \(item.kind) \(item.inode), and is \(status.kind) \(status.inode)"
          )
        }
        var shown = Shown(kind: status.kind, mode: status.mode)
        switch status.kind {
        case .regular:
          shown.bytes = try kernel.bytes(id)
          shown.extended = try kernel.extended(id)
        case .symlink: shown.bytes = try kernel.target(id)
        case .directory:
          shown.extended = try kernel.extended(id)
          try visit(id, below)
        default: break
        }
        found[below] = shown
        guard status.kind != .directory else { continue }
        files[status.inode, default: []].append(below)
        if let known = counts.updateValue(status.links, forKey: status.inode), !isPending,
          known != status.links
        {
          throw Fleet.Difference("m\(number) \(below): \(known) and \(status.links) links")
        }
      }
    }
    try visit(TreeSession.rootInode, "")
    for (inode, names) in files {
      for name in names { found[name]?.names = names.sorted() }
      guard let count = counts[inode], isPending || count == UInt32(names.count) else {
        throw Fleet.Difference("m\(number) \(names): \(counts[inode] ?? 0) links")
      }
    }
    return found
  }

  /// What the head holds, with the numbers that the live tree has for it.
  func headTree() throws -> [String: Shown] {
    var found: [String: Shown] = [:]
    var files: [[UInt8]: [String]] = [:]
    guard let root = try store.state().headMap else { return [:] }
    let view = TreeView(map: store.map(root))
    func visit(_ directory: [UInt8]) throws {
      var listing = view.list(directory)
      while let item = try listing.next() {
        let path = directory.isEmpty ? item.name : directory + [0x2F] + item.name
        let name = String(decoding: path, as: UTF8.self)
        let standard: UInt32 =
          item.kind == .directory ? 0o755 : item.kind == .symlink ? 0o777 : 0o644
        var shown = Shown(
          kind: item.kind,
          mode: item.kind == .symlink ? 0o777 : item.entry?.attributes.mode ?? standard)
        if let entry = item.entry {
          if item.kind != .directory { shown.bytes = try bytes(entry.stored) }
          // Linux has none for others; a merge keeps them where a file gave way to one of those.
          let hasExtended = item.kind == .regular || item.kind == .directory
          for one in hasExtended ? entry.attributes.extended : [] {
            shown.extended[one.name] = one.value
          }
        }
        found[name] = shown
        if item.kind == .directory {
          try visit(path)
        } else {
          // Names of one file bear one link id and are equal.
          var key = item.entry?.attributes.linkID.map { Digest.of($0).bytes } ?? Array(name.utf8)
          key +=
            "\(item.entry?.stored.digest.hex ?? "") \(item.entry?.attributes ?? Attributes())".utf8
          files[key, default: []].append(name)
        }
      }
    }
    try visit([])
    for names in files.values { for name in names { found[name]?.names = names.sorted() } }
    return found
  }

  private var known: [Digest: [UInt8]] = [:]

  private func bytes(_ stored: StoredContent) throws -> [UInt8] {
    if let bytes = known[stored.digest] { return bytes }
    let bytes = try store.bytes(stored)
    known[stored.digest] = bytes
    return bytes
  }

  /// Nothing is pending: the tree is its head, in memory too.
  ///
  /// - Returns: what it shows.
  @discardableResult
  func check() throws -> [String: Shown] {
    if let fault = try service.tree.fault() { throw Fleet.Difference("m\(number): \(fault)") }
    let live = try live()
    try Self.compare(live, try headTree(), "m\(number) tree and head")
    return live
  }

  static func compare(_ a: [String: Shown], _ b: [String: Shown], _ what: String) throws {
    let names = Set(a.keys).union(b.keys).filter { a[$0] != b[$0] }.sorted()
    guard !names.isEmpty else { return }
    let lines = names.prefix(8).map { name in
      "\(String(reflecting: name)): \(a[name]?.text ?? "-") / \(b[name]?.text ?? "-")"
    }
    throw Fleet.Difference("\(what):\n" + lines.joined(separator: "\n"))
  }

  /// All bytes of all versions.
  func history() throws -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    for record in try store.versions(afterName: nil, limit: .max) {
      var walk = TreeView(map: store.map(record.map)).entries(below: [])
      while let (_, entry) = try walk.next() {
        if entry.kind == .regular { found.insert(try bytes(entry.stored)) }
      }
    }
    return found
  }
}
