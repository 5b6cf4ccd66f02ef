import Grammar
import HistoryTree
import LLVSCore
import TestSupport
import TreeNames
import WorkingTree

@testable import TreeSupport

/// One random life.
final class ModelLife {
  struct Difference: Error { var text: String }
  final class Open {
    let handle: LiveHandle
    let node: ModelNode
    let mode: LiveHandle.Mode
    var wrote = false
    var everWrote = false
    init(_ handle: LiveHandle, _ node: ModelNode, _ mode: LiveHandle.Mode) {
      self.handle = handle
      self.node = node
      self.mode = mode
    }
    var isSteady: Bool {
      mode.contains(.append) || mode.isDisjoint(with: [.created, .truncate])
    }
  }

  private let directory: TemporaryDirectory
  private var current: MountedTree?
  let root = ModelNode(.directory, mode: 0o755)
  var random: SeededRandom
  private let settings: StoreSettings
  var opened: [Open] = []
  private(set) var log: [String] = []

  /// Few names of few files, linked, exchanged and removed again and again, instead of all that there is.
  private let isOfNames: Bool

  init(seed: UInt64, isOfNames: Bool = false) throws {
    self.isOfNames = isOfNames
    random = SeededRandom(seed: seed)
    directory = try TemporaryDirectory()
    var settings = StoreSettings()
    // Half of the lives never have a pause that counts, in the others every pause does.
    settings.settle = seed % 2 == 0 ? 0 : 3_600_000_000_000
    self.settings = settings
    current = try MountedTree(directory.path, settings: settings)
  }

  var mounted: MountedTree {
    guard let current else { preconditionFailure("nothing is mounted") }
    return current
  }

  private var pausesCount: Bool { settings.settle == 0 }

  func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private func name() -> String {
    ["a", "b", "c", "d", "e", "name with space"][
      Int.random(in: 0..<(isOfNames ? 3 : 6), using: &random)]
  }

  func all(_ kind: ModelNode.Kind? = nil) -> [(String, ModelNode)] {
    var found: [(String, ModelNode)] = []
    root.walk { path, node in if kind == nil || node.kind == kind { found.append((path, node)) } }
    return found
  }

  private func any(_ kind: ModelNode.Kind? = nil) -> (String, ModelNode)? {
    all(kind).randomElement(using: &random)
  }

  private func anyDirectory() -> (String, ModelNode) {
    (all(.directory) + [("", root)]).randomElement(using: &random) ?? ("", root)
  }

  func join(_ directory: String, _ name: String) -> String {
    directory.isEmpty ? name : directory + "/" + name
  }

  private func payload() -> [UInt8] {
    let size = [0, 1, 10, 127, 129, 4096, 5000, 40_000, 200_000].randomElement(using: &random) ?? 1
    return chance(20) ? [UInt8](repeating: 0, count: size) : random.bytes(size)
  }

  func step() throws {
    switch Int.random(in: isOfNames ? 60..<100 : 0..<100, using: &random) {
    case 80..<90 where isOfNames: try cutUnderWay()
    case 90..<93: try cut()
    case 93..<96: try cutUnderWay()
    case 96..<98: try remount(kill: false)
    case 98...: try remount(kill: true)
    default: try change()
    }
  }

  /// What programs do.
  private func change() throws {
    if isOfNames { return try changeNames() }
    switch Int.random(in: 0..<90, using: &random) {
    case 0..<18: try create()
    case 18..<26: try makeDirectory()
    case 26..<40: try write()
    case 40..<46: try resize()
    case 46..<58: try rename()
    case 58..<64: try remove()
    case 64..<66: try symlink()
    case 66..<70: try link()
    case 70..<74: try setAttributes()
    case 74..<80: try open()
    default: try finishOne()
    }
  }

  private func changeNames() throws {
    switch Int.random(in: 0..<90, using: &random) {
    case 0..<15: try create()
    case 15..<20: try makeDirectory()
    case 20..<45: try link()
    case 45..<70: try rename()
    case 70..<82: try remove()
    case 82..<86: try writeAgain()
    default: try resize()
    }
    for open in opened { try close(open) }
  }

  private func create() throws {
    let (path, parent) = anyDirectory()
    let name = name()
    let full = join(path, name)
    log.append("create \(full)")
    guard parent.children[name] == nil else {
      do {
        _ = try mounted.create(full)
      } catch FSError.exists {
        return
      }
      throw Difference(text: "create over \(full)")
    }
    let node = ModelNode(.file, mode: 0o644)
    node.unsaved = true
    node.steady = false
    parent.children[name] = node
    let open = Open(try mounted.create(full), node, [.write, .created])
    opened.append(open)
    if chance(70) { try write(open, log: full) }
    if chance(60) { try close(open) }
  }

  private func makeDirectory() throws {
    let (path, parent) = anyDirectory()
    let name = name()
    let full = join(path, name)
    log.append("mkdir \(full)")
    if parent.children[name] != nil { return }
    try mounted.makeDirectory(full)
    parent.children[name] = ModelNode(.directory, mode: 0o755)
  }

  private func write(_ open: Open, log text: String) throws {
    let bytes = payload()
    guard !bytes.isEmpty else { return }
    let most = open.node.bytes.count + (chance(10) ? 100_000 : 0)
    let offset = chance(40) ? open.node.bytes.count : Int.random(in: 0...most, using: &random)
    log.append("write \(text) \(bytes.count) at \(offset)")
    try mounted.write(open.handle, bytes, at: UInt64(offset))
    open.node.write(bytes, at: offset, steady: open.isSteady)
    open.wrote = true
    open.everWrote = true
  }

  private func write() throws {
    let writers = opened.filter { $0.mode.contains(.write) }
    guard let open = writers.randomElement(using: &random) else { return }
    try write(open, log: "handle \(open.handle.inode)")
  }

  /// Writes bytes that are there already.
  private func writeAgain() throws {
    guard let (path, node) = any(.file), let first = node.bytes.first else { return }
    log.append("write again \(path)")
    let open = Open(try mounted.open(path, .write), node, .write)
    opened.append(open)
    try mounted.write(open.handle, [first])
    node.write([first], at: 0, steady: open.isSteady)
    open.wrote = true
    open.everWrote = true
  }

  private func resize() throws {
    guard let (path, node) = any(.file) else { return }
    let size = Int.random(in: 0...(node.bytes.count + 1000), using: &random)
    log.append("truncate \(path) \(size)")
    try mounted.change(path) { $0.size = UInt64(size) }
    let wasUnsaved = node.unsaved
    node.begin(wasUnsaved ? node.steady : true)
    node.resize(size)
    if !wasUnsaved { node.save() }
  }

  /// One that no version takes, now and then, where it is a file's.
  private func name(for node: ModelNode) -> String {
    name() + (isOfNames && node.kind == .file && chance(15) ? "~" : "")
  }

  private func rename() throws {
    guard let (from, node) = any() else { return }
    let (path, parent) = anyDirectory()
    let name = name(for: node)
    let to = join(path, name)
    let mode: RenameMode = chance(15) ? .exchange : chance(15) ? .noReplace : .replacing
    let over = parent.children[name]
    // A directory of a version stays in them, whatever it is called.
    if mode == .exchange, from.hasSuffix("~"), over?.kind == .directory { return }
    log.append("rename \(from) \(to) \(mode)")
    let fromParts = from.split(separator: "/")
    let source = find(fromParts.dropLast().joined(separator: "/"))
    let fromName = String(fromParts.last ?? "")
    if over === node {
      // Two names of one file: nothing happens.
      do {
        try mounted.rename(from, to, mode)
        if mode == .noReplace { throw Difference(text: "rename over \(to)") }
      } catch FSError.exists {
        if mode != .noReplace { throw Difference(text: "rename \(from) \(to) exists") }
      }
      return
    }
    let isInside = to == from || to.hasPrefix(from + "/") || from.hasPrefix(to + "/")
    let works: Bool
    switch mode {
    case .noReplace: works = over == nil && !to.hasPrefix(from + "/")
    case .exchange: works = over != nil && !isInside
    case .replacing:
      if let over {
        works =
          to != from && !isInside && (over.kind == .directory) == (node.kind == .directory)
          && over.children.isEmpty
      } else {
        works = !to.hasPrefix(from + "/")
      }
    }
    do {
      try mounted.rename(from, to, mode)
    } catch let error as FSError {
      if works { throw Difference(text: "rename \(from) \(to) \(mode): \(error)") }
      return
    }
    if to == from, mode != .noReplace { return }
    guard works else { throw Difference(text: "rename \(from) \(to) \(mode) worked") }
    source?.children[fromName] = mode == .exchange ? over : nil
    parent.children[name] = node
  }

  private func find(_ path: String) -> ModelNode? {
    var node: ModelNode? = root
    for part in path.split(separator: "/") { node = node?.children[String(part)] }
    return node
  }

  private func remove() throws {
    guard let (path, node) = any() else { return }
    log.append("remove \(path)")
    let parts = path.split(separator: "/")
    let parent = find(parts.dropLast().joined(separator: "/"))
    if node.kind == .directory {
      do {
        try mounted.removeDirectory(path)
      } catch FSError.notEmpty {
        if node.children.isEmpty { throw Difference(text: "rmdir \(path) says not empty") }
        return
      }
      guard node.children.isEmpty else { throw Difference(text: "rmdir \(path) of a full one") }
    } else {
      try mounted.unlink(path)
    }
    parent?.children[String(parts.last ?? "")] = nil
  }

  private func symlink() throws {
    let (path, parent) = anyDirectory()
    let name = name()
    guard parent.children[name] == nil else { return }
    let full = join(path, name)
    log.append("symlink \(full)")
    let target = Array("../target/\(Int.random(in: 0..<1000, using: &random))".utf8)
    try mounted.with(full) { parent, name in
      let status = try mounted.tree.makeSymlink(
        parent, name, target: target, caller: MountedTree.caller)
      mounted.forget(status.node)
    }
    let node = ModelNode(.symlink, mode: 0o777)
    node.bytes = target
    node.saved = target
    parent.children[name] = node
  }

  private func link() throws {
    guard let (from, node) = any(), node.kind != .directory else { return }
    let (path, parent) = anyDirectory()
    let name = name(for: node)
    let to = join(path, name)
    log.append("link \(from) \(to)")
    do {
      try mounted.link(from, to)
      guard parent.children[name] == nil else { throw Difference(text: "link over \(to)") }
      parent.children[name] = node
    } catch FSError.exists {
      if parent.children[name] == nil { throw Difference(text: "link \(to) exists") }
    }
  }

  private func setAttributes() throws {
    guard let (path, node) = any(), node.kind != .symlink else { return }
    if chance(50) {
      node.mode = [0o600, 0o755, 0o644, 0o4755].randomElement(using: &random) ?? 0o600
      log.append("chmod \(path) \(node.mode)")
      try mounted.change(path) { $0.mode = node.mode }
    } else {
      let name = "user.n\(Int.random(in: 0..<3, using: &random))"
      var value = random.bytes(Int.random(in: 0..<300, using: &random))
      // Long ones, which a node leaves to the versions that have them.
      if value.count % 4 == 0 { value = Array(repeatElement(value, count: 8).joined()) }
      log.append("setxattr \(path) \(name)")
      try mounted.with(path) { parent, last in
        let status = try mounted.tree.lookup(parent, last)
        defer { mounted.forget(status.node) }
        try mounted.tree.setxattr(status.node, Array(name.utf8), value, mode: .either)
      }
      node.attributes[name] = value
    }
  }

  private func open() throws {
    guard opened.count < 12, let (path, node) = any(.file) else { return }
    var mode: LiveHandle.Mode = chance(30) ? .read : .write
    if mode == .write, chance(30) { mode.insert(.truncate) }
    if mode == .write, chance(30) { mode.insert(.append) }
    log.append("open \(path) \(mode.rawValue)")
    let open = Open(try mounted.open(path, mode), node, mode)
    if mode.contains(.truncate) {
      node.begin(false)
      node.bytes = []
    }
    opened.append(open)
  }

  private func flush(_ open: Open) throws {
    try mounted.tree.flush(open.handle)
    if open.wrote { open.node.save() }
    open.wrote = false
  }

  private func finishOne() throws {
    guard let open = opened.randomElement(using: &random) else { return }
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      log.append("flush \(open.handle.inode)")
      // A second flush of an emptied file would save it; one comes with each close.
      guard open.everWrote || !open.mode.contains(.write) else { return }
      try flush(open)
    case 1:
      log.append("fsync \(open.handle.inode)")
      try mounted.tree.fsync(open.handle)
      open.node.save()
      open.wrote = false
    default: try close(open)
    }
  }

  private func close(_ open: Open) throws {
    log.append("close \(open.handle.inode)")
    try flush(open)
    try mounted.tree.release(open.handle)
    opened.removeAll { $0 === open }
    let hasWriter = opened.contains { $0.node === open.node && $0.mode.contains(.write) }
    if open.mode.contains(.write), !hasWriter { open.node.save() }
  }

  func cut() throws {
    let reason: CutReason =
      pausesCount ? [.command, .quiet, .overdue].randomElement(using: &random) ?? .quiet : .command
    log.append("cut \(reason)")
    try mounted.cut(reason)
    let expected = root.cut(pausedCount: pausesCount)
    let state = try mounted.store.state()
    let record = try state.head.flatMap { try mounted.store.version($0) }
    let found = try snapshot(record)
    try check(expected, found, "version", "")
  }

  /// A cut while which programs go on: it takes what was there when it was planned.
  private func cutUnderWay() throws {
    log.append("cut begins")
    var expected: [String: ModelNode.Snapshot] = [:]
    var failure: (any Error)?
    let outcome = try mounted.tree.transition(.command) { (_, head) throws(StoreError) in
      expected = root.cut(pausedCount: pausesCount)
      do {
        for _ in 0..<Int.random(in: 1...8, using: &random) { try change() }
      } catch {
        failure = error
      }
      return head
    }
    if let failure { throw failure }
    log.append("cut ends")
    try check(expected, try snapshot(outcome.head), "version", "")
    try compare()
  }

  private func remount(kill: Bool) throws {
    log.append(kill ? "kill" : "remount")
    if !kill {
      for open in opened { try close(open) }
    }
    opened = []
    // Nothing is said to the old objects: the files are as a killed daemon leaves them.
    current = nil
    current = try MountedTree(directory.path, settings: settings)
    guard mounted.recovery.losses.isEmpty else {
      throw Difference(text: "\(mounted.recovery.losses)")
    }
    try compare()
  }
}
