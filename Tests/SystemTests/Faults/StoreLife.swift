import Control
import Foundation
import Grammar
import LLVSCore
import Platform
import TestSupport
import TreeNames
import WorkingTree

@testable import TreeSupport

/// The life of a store from its first opening to its last exchange, in steps that can be repeated: what
/// fails is called again, as a person would.
///
/// Every file that the store, its peer's folder and its backups consist of stands below ``faultsBelow``, so
/// that a plan for that prefix meets every call of the life and no other.
final class StoreLife {
  typealias Step = (name: String, run: @Sendable (StoreLife) throws -> Void)

  let directory: String
  private(set) var service: ControlService?
  /// How many steps were answered.
  var answered = 0
  private var backups = 0

  var faultsBelow: String { directory + "/x-" }
  var store: String { directory + "/x-store" }
  var folder: String { directory + "/x-folder" }
  var backup: String { directory + "/x-backup-\(backups)" }

  /// What the other store sent, at `first` and at the end.
  private let other: String

  /// A place in `directory` where another store's first versions are in the folder; `other` names what
  /// that store sent where another process made it.
  init(_ directory: String, other: String? = nil) throws {
    self.directory = directory
    self.other = try other ?? Self.other.get()
    // An earlier process's.
    while try FileSystem.exists("\(directory)/x-backup-\(backups + 1)") { backups += 1 }
    guard try !FileSystem.exists(folder) else { return }
    try FileManager.default.copyItem(atPath: self.other + "/first", toPath: folder)
  }

  // MARK: The other store

  /// Folders with what another store sent at first and in the end; made once.
  static let other = Result { () throws -> String in
    let directory = try StoreLife.place()
    otherDirectory = directory
    atexit { otherDirectory = nil }
    let other = try StoreLife(bare: directory.path)
    try FileSystem.makeDirectory(directory.path + "/folder")
    let service = try other.opened()
    try service.setPeer("folder", address: Array("plain+\(directory.path)/folder\n".utf8))
    try other.write("shared", "base")
    try other.write("theirs", "old")
    _ = try service.run([Array("sync".utf8)])
    try FileManager.default.copyItem(
      atPath: directory.path + "/folder", toPath: directory.path + "/first")
    try other.write("shared", "of b")
    try other.write("theirs", "new")
    _ = try service.run([Array("sync".utf8)])
    return directory.path
  }
  // Kept for as long as the process lives, set once: the directory goes with its object.
  nonisolated(unsafe) private static var otherDirectory: TemporaryDirectory?

  private init(bare directory: String) throws {
    self.directory = directory
    other = ""
  }

  /// A directory in memory where there is one: thousands of lives sync thousands of times.
  static func place() throws -> TemporaryDirectory {
    try TemporaryDirectory(inMemory: true)
  }

  // MARK: Opening

  /// The service of the store, opened where it is not.
  func opened() throws -> ControlService {
    if let service { return service }
    let store = try Store.open(path: store, mode: .writer, create: true)
    let service = try ControlService.open(store)
    self.service = service
    return service
  }

  func close() { service = nil }

  // MARK: Files

  private func split(_ path: String, in tree: TreeSession) throws -> (UInt64, [UInt8]) {
    let parts = path.utf8.split(separator: 0x2F).map { Array($0) }
    var inode = TreeSession.rootInode
    for part in parts.dropLast() { inode = try tree.lookup(inode, part).inode }
    return (inode, parts[parts.count - 1])
  }

  func write(_ path: String, _ text: String, syncing: Bool = false) throws {
    let tree = try opened().tree
    let (parent, name) = try split(path, in: tree)
    let handle: LiveHandle
    if let status = try? tree.lookup(parent, name) {
      handle = try tree.open(status.node, mode: [.write, .truncate])
    } else {
      handle = try tree.create(
        parent, name, mode: 0o644, open: [.write, .created],
        caller: Caller(uid: 0, gid: 0, process: 1)
      ).1
    }
    var failure: (any Error)?
    do {
      try Array(text.utf8).withUnsafeBytes { try tree.write(handle, at: 0, $0) }
      if syncing { try tree.fsync(handle) }
      try tree.flush(handle)
    } catch {
      failure = error
    }
    try tree.release(handle)
    if let failure { throw failure }
  }

  /// The text at a path; nil where nothing is.
  ///
  /// - Throws: what reading throws, except that the name is not there.
  func read(_ path: String) throws -> String? {
    let tree = try opened().tree
    let status: NodeStatus
    do {
      let (parent, name) = try split(path, in: tree)
      status = try tree.lookup(parent, name)
    } catch FSError.noEntry {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.size))
    let count = try bytes.withUnsafeMutableBytes { buffer -> Int in
      try tree.read(status.node, at: 0, into: buffer)
    }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  private func command(_ line: String) throws {
    var script = try ControlScript(Array(line.utf8))
    while let words = try script.next() { try opened().run(words) }
  }

  // MARK: The life

  /// As long as a value that is no part of the journal but of a staging file.
  static let large = String(repeating: "0123456789abcdef", count: 6000)

  static let steps: [Step] = [
    ("open", { _ = try $0.opened() }),
    (
      "name a peer",
      { try $0.opened().setPeer("usb", address: Array(($0.folder + "\n").utf8)) }
    ),
    (
      "retrieve",
      {
        try $0.command("retrieve")
        try $0.command("merge")
      }
    ),
    (
      "save",
      {
        try $0.write("own", "mine")
        try $0.write("large", large)
      }
    ),
    ("commit", { try $0.command("commit the first") }),
    (
      "arrange",
      { life in
        let tree = try life.opened().tree
        let (root, caller) = (TreeSession.rootInode, Caller(uid: 0, gid: 0, process: 1))
        if (try? tree.lookup(root, Array("d".utf8))) == nil {
          _ = try tree.makeDirectory(root, Array("d".utf8), mode: 0o755, caller: caller)
        }
        try life.write("d/inner", "inner")
        if try life.read("own") != nil {
          try tree.rename(root, Array("own".utf8), root, Array("renamed".utf8), mode: .replacing)
        }
        var change = StatusChange()
        change.mode = 0o600
        _ = try tree.setattr(try tree.lookup(root, Array("large".utf8)).node, change)
      }
    ),
    ("edit", { try $0.write("shared", "of a", syncing: true) }),
    (
      "exchange and merge",
      { life in
        // Brought by the other store, with calls that no fault is in.
        for kind in ["versions", "changes"] {
          let source = life.other + "/folder/" + kind
          for name in try FileManager.default.contentsOfDirectory(atPath: source) {
            let target = "\(life.folder)/\(kind)/\(name)"
            guard !FileManager.default.fileExists(atPath: target) else { continue }
            try FileManager.default.copyItem(atPath: "\(source)/\(name)", toPath: target)
          }
        }
        try life.command("sync usb")
      }
    ),
    (
      "settle",
      { life in
        guard try !life.opened().openConflicts().isEmpty else { return }
        try life.command("settle shared theirs")
      }
    ),
    ("tag", { try $0.command("tag lasting") }),
    ("verify", { try $0.command("verify") }),
    (
      "back up",
      { life in
        repeat { life.backups += 1 } while try FileSystem.exists(life.backup)
        try TreeSession.backup(try life.opened().store, to: life.backup)
      }
    ),
    ("undo", { if try $0.read("shared") == "of b" { try $0.command("undo") } }),
    ("redo", { if try $0.read("shared") == "of a" { try $0.command("redo") } }),
    ("save again", { try $0.write("last", "last", syncing: true) }),
    ("exchange", { try $0.command("sync usb") }),
    ("pending", { try $0.write("pending", "pending", syncing: true) }),
  ]

  static let names = [
    "shared", "theirs", "own", "large", "d/inner", "renamed", "last", "pending",
  ]

  /// What each name must show after so many steps; what is not named is not there.
  static func expected(_ done: Int) -> [String: String] {
    var found: [String: String] = [:]
    if done >= 3 {
      let isSettled = done >= 9 && done != 13
      found["shared"] = isSettled ? "of b" : done >= 7 ? "of a" : "base"
      found["theirs"] = done >= 8 ? "new" : "old"
    }
    if done >= 4 {
      found["large"] = large
      found[done >= 6 ? "renamed" : "own"] = "mine"
    }
    if done >= 6 { found["d/inner"] = "inner" }
    if done >= 15 { found["last"] = "last" }
    if done >= 17 { found["pending"] = "pending" }
    return found
  }

  /// Runs what is left of the life; throws what a step throws, which is then not answered.
  func run(noting: (Int) throws -> Void = { _ in }) throws {
    while answered < Self.steps.count {
      try Self.steps[answered].run(self)
      answered += 1
      try noting(answered)
    }
  }
}
