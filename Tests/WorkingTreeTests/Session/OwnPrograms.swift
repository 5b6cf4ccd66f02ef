import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs with names of their own, and a model of the tree at these names: names, numbers, link counts, times and
/// bytes.
final class OwnPrograms {
  /// A name as its program knows it.
  struct Node: Equatable {
    var status: InodeStatus
    var text: String?
    var isDirectory: Bool { text == nil }
  }

  var work: TreeAtWork
  private let prefix: String
  private let process: Int32
  private(set) var nodes: [String: Node] = [:]
  /// The numbers of the directories that others have names in, too.
  private let shared: [String: InodeNumber]
  /// What the kernel knows.
  private var known: [InodeNumber: UInt64] = [:]
  private var handles: [(number: InodeNumber, handle: HandleNumber)] = []
  private var mark = 0
  var log: [String] = []

  init(_ work: TreeAtWork, prefix: String, shared: [String: InodeNumber], process: Int32 = 0) {
    (self.work, self.prefix, self.shared, self.process) = (work, prefix, shared, process)
  }

  /// Continues with the store after a kill.
  func mount(_ work: TreeAtWork, _ nodes: [String: Node]) {
    (self.work, self.nodes) = (work, nodes)
    (known, handles) = ([:], [])
  }

  func closeAll() throws {
    for (_, handle) in handles { try work.close(handle) }
    handles = []
  }

  private func parent(_ path: String) -> String {
    path.split(separator: "/").dropLast().joined(separator: "/")
  }

  private func directoryNumber(_ path: String) -> InodeNumber? {
    shared[path] ?? nodes[path].flatMap { $0.isDirectory ? $0.status.number : nil }
  }

  private func place(_ path: String) throws -> InodeName {
    guard let directory = directoryNumber(parent(path)) else { throw FSError.noEntry }
    return InodeName(
      directory: directory, name: FileName(Array((path.split(separator: "/").last ?? "").utf8)))
  }

  private func anyPlace(_ random: inout SeededRandom) -> String {
    let above = (Array(shared.keys) + nodes.filter { $0.value.isDirectory }.keys)
      .filter { $0.split(separator: "/").count < 4 }.sorted()
    let directory = above.randomElement(using: &random) ?? ""
    let letter = ["a", "b", "c", "d"].randomElement(using: &random) ?? "a"
    let name = shared[directory] == nil ? letter : "\(prefix)\(letter)"
    return directory.isEmpty ? name : "\(directory)/\(name)"
  }

  private func anyOwn(_ random: inout SeededRandom, directory: Bool? = nil) -> String? {
    nodes.filter { directory == nil || $0.value.isDirectory == directory }.keys.sorted()
      .randomElement(using: &random)
  }

  private func below(_ path: String) -> [String] {
    nodes.keys.filter { $0.hasPrefix(path + "/") }
  }

  /// Takes the statuses of inodes that a call changed.
  private func refresh(_ numbers: Set<InodeNumber>) throws {
    for (path, node) in nodes where numbers.contains(node.status.number) {
      nodes[path]?.status = try Self.status(node.status.number, work)
    }
  }

  private static func status(_ number: InodeNumber, _ work: TreeAtWork) throws -> InodeStatus {
    var status = try work.tree.status(of: number)
    status.atime = status.mtime
    return status
  }

  private func numbers(_ paths: String...) -> Set<InodeNumber> {
    Set(
      paths.flatMap { path in
        [nodes[path]?.status.number, directoryNumber(parent(path))].compactMap(\.self)
      })
  }

  private var caller: Caller { Caller(uid: 1000, gid: 1000, process: process, umask: 0o022) }

  private func newMark() -> String {
    mark += 1
    return "\(prefix)m\(mark)"
  }

  /// The kernel forgets what has no name.
  private func drop(_ number: InodeNumber) {
    guard !nodes.values.contains(where: { $0.status.number == number }),
      !handles.contains(where: { $0.number == number }),
      let count = known.removeValue(forKey: number)
    else { return }
    work.tree.forget(number, count: count)
  }

  private func learn(_ number: InodeNumber) { known[number, default: 0] += 1 }

  private func make(_ path: String, _ text: String?, isHeld: Bool = false) throws {
    let place = try place(path)
    guard nodes[path] == nil else { return }
    let number: InodeNumber
    if let text {
      let (status, handle) = try work.tree.create(
        place.directory, place.name, mode: 0o644, open: [.read, .write], caller: caller)
      number = status.number
      try work.write(text, through: handle)
      if isHeld { handles.append((number, handle)) } else { try work.close(handle) }
    } else {
      number = try work.tree.makeDirectory(
        place.directory, place.name, mode: 0o755, caller: caller
      ).number
    }
    learn(number)
    nodes[path] = Node(status: try Self.status(number, work), text: text)
    try refresh(numbers(path))
  }

  private func link(_ path: String, _ new: String) throws {
    guard nodes[new] == nil, let node = nodes[path] else { return }
    let place = try place(new)
    _ = try work.tree.link(
      node.status.number, place.directory, place.name, process: process)
    learn(node.status.number)
    nodes[new] = node
    try refresh(numbers(new))
  }

  private func remove(_ path: String) throws {
    guard let node = nodes[path] else { return }
    let place = try place(path)
    let changed = numbers(path)
    if node.isDirectory {
      guard below(path).isEmpty else { return }
      try work.tree.removeDirectory(place.directory, place.name, process: process)
    } else {
      try work.tree.unlink(place.directory, place.name, process: process)
    }
    nodes[path] = nil
    drop(node.status.number)
    try refresh(changed)
  }

  private func rename(_ from: String, _ to: String, _ mode: RenameMode) throws {
    guard let node = nodes[from], from != to, !to.hasPrefix(from + "/"),
      !from.hasPrefix(to + "/")
    else { return }
    let over = nodes[to]
    guard over?.status.number != node.status.number else { return }
    let places = (try place(from), try place(to))
    let changed = numbers(from, to)
    do throws(FSError) {
      try work.tree.rename(places.0, to: places.1, mode: mode, process: process)
    } catch {
      if case .store = error { throw error }
      return
    }
    func take(_ path: String) -> [String: Node] {
      var taken: [String: Node] = [:]
      for one in [path] + below(path) { taken[String(one.dropFirst(path.count))] = nodes[one] }
      for one in taken.keys { nodes[path + one] = nil }
      return taken
    }
    let (moved, other) = (take(from), take(to))
    for (path, node) in moved { nodes[to + path] = node }
    if mode == .exchange { for (path, node) in other { nodes[from + path] = node } }
    if let over { drop(over.status.number) }
    try refresh(changed)
  }

  func act(_ random: inout SeededRandom) throws {
    let place = anyPlace(&random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<12: try note("create \(place)") { try make(place, newMark()) }
    case 12..<16: try note("create and hold \(place)") { try make(place, newMark(), isHeld: true) }
    case 16..<23:
      guard let path = anyOwn(&random, directory: false) else { return }
      try note("link \(path) \(place)") { try link(path, place) }
    case 23..<25:
      guard let path = anyOwn(&random), let number = nodes[path]?.status.number else { return }
      try note("setxattr \(path)") {
        let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: 900)
        try work.tree.setxattr(number, Array("user.a".utf8), value)
        try refresh([number])
      }
    case 25..<32: try note("mkdir \(place)") { try make(place, nil) }
    case 32..<40:
      guard let path = anyOwn(&random) else { return }
      try note("remove \(path)") { try remove(path) }
    case 40..<48:
      guard let path = anyOwn(&random, directory: true) else { return }
      try note("rmdir \(path)") { try remove(path) }
    case 48..<72:
      guard let path = anyOwn(&random, directory: Int.random(in: 0..<3, using: &random) > 0) else {
        return
      }
      let isExchange = Int.random(in: 0..<3, using: &random) == 0
      let to = isExchange ? anyOwn(&random) ?? place : place
      try note("\(isExchange ? "exchange" : "mv") \(path) \(to)") {
        try rename(path, to, isExchange ? .exchange : .replacing)
      }
    case 72..<76:
      guard nodes[place] == nil else { return }
      let count = Int.random(in: 4..<20, using: &random)
      try note("fill \(place) \(count)") {
        try make(place, nil)
        for index in 0..<count { try make("\(place)/m\(index)", newMark()) }
      }
    case 76..<80:
      guard let path = anyOwn(&random, directory: true) else { return }
      try note("rm -r \(path)") {
        for one in ([path] + below(path)).sorted().reversed() { try remove(one) }
      }
    case 80..<84: try look(&random)
    case 84..<90: try save(&random)
    case 90..<96: try useHandle(&random)
    default:
      guard let path = anyOwn(&random) else { return }
      let mode: UInt32 = nodes[path]?.isDirectory ?? false ? 0o700 : 0o600
      guard let number = nodes[path]?.status.number else { return }
      try note("chmod \(path)") {
        var change = StatusChange()
        change.mode = nodes[path]?.status.mode == mode ? mode | 0o055 : mode
        _ = try work.tree.setattr(number, change)
        try refresh([number])
      }
    }
  }

  private func note(_ text: String, _ body: () throws -> Void) throws {
    log.append(text)
    try body()
  }

  /// Makes the kernel know all, or forget all.
  private func look(_ random: inout SeededRandom) throws {
    if Bool.random(using: &random) {
      log.append("look")
      for path in nodes.keys.sorted() {
        let place = try place(path)
        learn(try work.tree.lookup(place.directory, place.name).number)
      }
    } else {
      log.append("forget")
      for (number, count) in known where !handles.contains(where: { $0.number == number }) {
        work.tree.forget(number, count: count)
        known[number] = nil
      }
    }
  }

  private func save(_ random: inout SeededRandom) throws {
    guard let path = anyOwn(&random, directory: false), let number = nodes[path]?.status.number
    else { return }
    let text = newMark()
    log.append("save \(path)")
    let handle = try work.tree.open(number, mode: [.write, .truncate], process: process).handle
    try work.write(text, through: handle)
    try work.close(handle)
    for (path, node) in nodes where node.status.number == number { nodes[path]?.text = text }
    try refresh([number])
  }

  private func useHandle(_ random: inout SeededRandom) throws {
    if handles.count > 3 || Bool.random(using: &random),
      let (number, handle) = handles.randomElement(using: &random)
    {
      handles.removeAll { $0.handle == handle }
      log.append("close \(number.rawValue)")
      try work.close(handle)
      drop(number)
      try refresh([number])
    } else if let path = anyOwn(&random, directory: false),
      let number = nodes[path]?.status.number
    {
      if Int.random(in: 0..<3, using: &random) == 0 {
        log.append("read \(path) \(number.rawValue)")
        let handle = try work.tree.open(number, mode: [.read], process: 1).handle
        handles.append((number, handle))
        return
      }
      log.append("open \(path) \(number.rawValue)")
      let handle = try work.tree.open(number, mode: [.read, .write], process: process).handle
      handles.append((number, handle))
      guard Bool.random(using: &random) else { return }
      let text = newMark()
      try work.write(text, through: handle, at: nodes[path]?.status.size ?? 0)
      for (path, node) in nodes where node.status.number == number {
        nodes[path]?.text = (node.text ?? "") + text
      }
      try refresh([number])
    }
  }

  /// Returns how a tree differs from what programs made.
  func faults(of work: TreeAtWork, against nodes: [String: Node]) throws -> [String] {
    var found: [String: Node] = [:]
    for (path, shown) in try work.shown() {
      let parts = path.split(separator: "/")
      let own = parts.first == "common" ? parts.dropFirst().first : parts.first
      guard let own, own.hasPrefix(prefix) else { continue }
      found[path] = Node(status: try Self.status(shown.number, work), text: shown.text)
    }
    var faults: [String] = []
    for path in Set(found.keys).union(nodes.keys).sorted() {
      var expected = nodes[path]
      if expected?.isDirectory ?? false {
        let inside = nodes.filter { $0.key.hasPrefix(path + "/") && $0.value.isDirectory }
          .filter { parent($0.key) == path }
        expected?.status.links = UInt32(2 + inside.count)
      }
      guard found[path] != expected else { continue }
      faults.append(
        "\(path): \(found[path].map(Self.text) ?? "-") in place of \(expected.map(Self.text) ?? "-")"
      )
    }
    return faults
  }

  private static func text(_ node: Node) -> String {
    let status = node.status
    return
      "\(node.text.map { "file \($0)" } ?? "directory") number \(status.number.rawValue) links \(status.links)"
      + " mode \(String(status.mode, radix: 8)) size \(status.size)"
      + " mtime \(status.mtime.seconds).\(status.mtime.nanoseconds)"
      + " ctime \(status.ctime.seconds).\(status.ctime.nanoseconds)"
  }
}
