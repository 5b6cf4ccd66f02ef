import Control
import Events
import Grammar
import Inodes
import LLVSCore
import Platform
import TestSupport
import WorkingTree

@testable import TreeNames

/// A store with its live tree and the service of its commands, without a mount.
final class ControlWorkspace: Sendable {
  static let caller = Caller(uid: 0, gid: 0, process: 1)
  let service: ControlService
  let directory: TemporaryDirectory

  var tree: TreeSession { service.tree }
  var store: Store { service.store }

  init(opener: PeerOpener = .standard, clock: ServiceClock = .system) throws {
    directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("store"), mode: .writer, create: true)
    var faults: [String] = []
    let settings = StoreSettings(stored: try store.state().settings, faults: &faults)
    let log = EventLog(directory: store.path)
    let (tree, _) = try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 0, gid: 0), ignore: .defaults, settings: settings,
      log: log)
    service = ControlService(tree, log: log, opener: opener, clock: clock)
  }

  @discardableResult
  func run(_ line: String) throws -> CommandResult {
    var script = try ControlScript(Array(line.utf8))
    guard let command = try script.next() else { throw ControlError(.grammar, "empty") }
    return try service.run(command)
  }

  /// The kind of the error that a command ends with; nil where it is done.
  func failure(_ line: String) throws -> ControlError.Kind? {
    do {
      try run(line)
      return nil
    } catch let error as ControlError {
      return error.kind
    }
  }

  /// Writes a whole file as an editor does; `isSaved` false leaves the handle open.
  @discardableResult
  func write(_ name: String, _ text: String, isSaved: Bool = true) throws -> LiveHandle {
    let handle: LiveHandle
    do {
      let status = try tree.lookup(TreeSession.rootInode, Array(name.utf8))
      handle = try tree.open(status.node, mode: [.write, .truncate])
    } catch {
      handle = try tree.create(
        TreeSession.rootInode, Array(name.utf8), mode: 0o644, open: [.write, .created],
        caller: Self.caller
      ).1
    }
    try Array(text.utf8).withUnsafeBytes { try tree.write(handle, at: 0, $0) }
    if isSaved {
      try tree.flush(handle)
      try tree.release(handle)
    }
    return handle
  }

  func remove(_ name: String) throws {
    try tree.unlink(TreeSession.rootInode, Array(name.utf8))
  }

  /// The bytes that the tree shows; nil where the name is not there.
  func read(_ name: String) throws -> String? {
    let status: NodeStatus
    do { status = try tree.lookup(TreeSession.rootInode, Array(name.utf8)) } catch { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.size))
    let count = try bytes.withUnsafeMutableBytes { buffer -> Int in
      try tree.read(status.node, at: 0, into: buffer)
    }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// What status says of what is in no version yet.
  func pending() throws -> String {
    let lines = try service.status().text.split(separator: "\n")
    let line = lines.first { $0.hasPrefix("pending") } ?? ""
    return String(line.dropFirst("pending".count).drop { $0 == " " })
  }

  var head: String? {
    get throws {
      guard let number = try store.state().head else { return nil }
      return try store.version(number)?.name
    }
  }
}
