import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs at work at random on a tree over a real store, among cuts, merges, switches and kills.
final class WorkingLife {
  let work: TreeAtWork
  private let path: String
  private let copies: TemporaryDirectory
  private var random: SeededRandom
  private var mark = 0
  private var handles: [HandleNumber] = []
  /// The marks that programs removed or replaced during the last transition.
  private var removed: Set<Substring> = []
  /// The marks in all versions so far.
  private var versionMarks: Set<Substring> = []
  private var seenVersions: UInt32 = 0
  private(set) var log: [String] = []

  init(seed: UInt64, in path: String) throws {
    self.path = path
    work = try TreeAtWork(path, longCut: 0, isHeld: true)
    copies = try TemporaryDirectory(inMemory: true)
    random = SeededRandom(seed: seed &+ 40_000)
  }

  func run(_ steps: Int) throws {
    for step in 0..<steps {
      if random.chance(0.2) { try transition() } else { try act() }
      try work.tree.pending.check(over: work.recorded)
      if step % 16 == 15 { try restart() }
    }
    try settle()
  }

  // MARK: - Programs

  private func newMark() -> String {
    mark += 1
    return "m\(mark) "
  }

  private func path(in texts: [String: String?]) -> String {
    let directories =
      [""] + texts.filter { $0.value == nil && $0.key.utf8.count < 6 }.keys.sorted()
    let above = directories.randomElement(using: &random) ?? ""
    let name = ["a", "b", "c", "d"].randomElement(using: &random) ?? "a"
    return above.isEmpty ? name : "\(above)/\(name)"
  }

  /// One thing that a program does; what is not allowed does nothing.
  private func act() throws {
    let texts = try work.texts()
    let all = texts.keys.sorted()
    let (path, other) = (path(in: texts), all.randomElement(using: &random) ?? "a")
    do throws(FSError) {
      try act(path, other, texts[path] ?? nil != nil || texts[path] == nil)
    } catch {
      switch error {
      case .store, .system: throw error
      default: break
      }
    }
  }

  private func act(_ path: String, _ other: String, _ isFile: Bool) throws(FSError) {
    switch random.unit() {
    case ..<0.35:
      guard isFile else { return }
      try note("save \(path)") { try self.work.save(path, self.newMark()) }
    case ..<0.5: try note("mkdir \(path)") { try self.work.makeDirectory(path) }
    case ..<0.6: try note("unlink \(other)") { try self.work.unlink(other) }
    case ..<0.65: try note("rmdir \(other)") { try self.work.removeDirectory(other) }
    case ..<0.8: try note("rename \(other) \(path)") { try self.work.rename(other, path) }
    case ..<0.83:
      try note("exchange \(other) \(path)") { try self.work.rename(other, path, .exchange) }
    case ..<0.86: try note("link \(other) \(path)") { try self.work.link(other, path) }
    default: try useHandle(path, isFile)
    }
  }

  private func useHandle(_ path: String, _ isFile: Bool) throws(FSError) {
    if let handle = handles.randomElement(using: &random), random.chance(0.7) {
      if random.chance(0.5) {
        let offset = UInt64(Int.random(in: 0...40, using: &random))
        try note("write \(handle.rawValue)") {
          try self.work.write(self.newMark(), through: handle, at: offset)
        }
      } else {
        handles.removeAll { $0 == handle }
        try note("close \(handle.rawValue)") { try self.work.close(handle) }
      }
    } else if isFile {
      try note("open \(path)") { self.handles.append(try self.work.open(path).1) }
    }
  }

  private func note(_ text: String, _ body: () throws -> Void) throws(FSError) {
    do {
      try body()
      log.append(text)
    } catch let error as FSError {
      throw error
    } catch {
      throw .store(.invalid("\(error)"))
    }
  }

  // MARK: - Heads

  /// A version of somebody else on one of the last heads; nil if nothing came of it.
  private func foreign() throws -> VersionNumber? {
    guard let head = try work.store.state().head else { return nil }
    var base = head
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      base = try work.store.version(base)?.first ?? base
    }
    let record = try work.store.version(base)
    let map = work.store.map(record?.map ?? .empty)
    let files = try work.store.modelMap(of: map).filter { !$0.value.isDirectory }.keys.sorted()
    var values: [String: String?] = [:]
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      if let file = files.randomElement(using: &random), random.chance(0.6) {
        values[file] = random.chance(0.6) ? newMark() : .some(nil)
      } else {
        let name = ["a", "b", "c", "d/x", "d", "e/a"].randomElement(using: &random) ?? "a"
        values[name] = newMark()
      }
    }
    values = values.filter { $0.value != nil || files.contains($0.key) }
    guard !values.isEmpty else { return nil }
    log.append("others on \(base.rawValue): \(values.sorted { $0.key < $1.key })")
    return try work.others(values, on: base)
  }

  /// A cut, and what follows it; programs go on meanwhile.
  private func transition() throws {
    let owed = try owed()
    var goOn: Versioner.GoOn = { (_, head) throws(StoreError) in head }
    switch random.unit() {
    case ..<0.45: log.append("cut")
    case ..<0.85:
      guard let other = try foreign() else { return }
      log.append("merge \(other.rawValue)")
      goOn = { transaction, head throws(StoreError) in
        try transaction.mergeSides([head, other].compactMap(\.self), live: head).outcome
      }
    default:
      guard let head = try work.store.state().head, let to = try work.store.version(head)?.first
      else { return }
      log.append("switch \(to.rawValue)")
      goOn = { (_, _) throws(StoreError) in to }
    }
    var failure: (any Error)?
    removed = []
    func between() {
      do {
        let before = try shownMarks()
        for _ in 0..<([0, 0, 1, 2].randomElement(using: &random) ?? 0) { try act() }
        removed.formUnion(before.subtracting(try shownMarks()))
      } catch {
        failure = error
      }
    }
    try killing(owed) {
      try self.work.versioner.transition(CutRequest(.command)) {
        [goOn] transaction, head throws(StoreError) in
        between()
        return try goOn(transaction, head)
      }
      // A cut alone has not been shown yet.
      between()
      self.work.writeRows()
    }
    if let failure { throw failure }
    log.append("done")
    try checkHead(owed)
  }

  /// The marks in all files that programs see.
  private func shownMarks() throws -> Set<Substring> {
    var marks: Set<Substring> = []
    for text in try work.texts().values { marks.formUnion(text?.split(separator: " ") ?? []) }
    return marks
  }

  /// The marks that are saved and that no version may lack after a cut.
  private func owed() throws -> Set<Substring> {
    let pending = work.tree.pending
    var owed: Set<Substring> = []
    for shown in try work.shown().values {
      guard let text = shown.text, !(pending.nodes[shown.number]?.file?.isUnsaved ?? false) else {
        continue
      }
      owed.formUnion(text.split(separator: " ").filter { $0.hasPrefix("m") })
    }
    return owed
  }

  private func checkHead(_ owed: Set<Substring>) throws {
    try work.check(log.joined(separator: "; "))
    versionMarks.formUnion(try marks(in: work.store, after: seenVersions))
    seenVersions = work.store.lastNumber
    let lost = owed.subtracting(versionMarks)
    guard lost.isEmpty else { throw LifeFault("saved and in no version: \(lost.sorted())") }
  }

  /// The marks in the versions of a store after one.
  private func marks(in store: Store, after first: UInt32) throws -> Set<Substring> {
    var marks: Set<Substring> = []
    for number in first..<store.lastNumber {
      guard let record = try store.version(VersionNumber(number + 1)) else { continue }
      var cursor = MapCursor(store.map(of: record))
      while let entry = try cursor.next() {
        let text = String(decoding: store.readable(entry.stored), as: UTF8.self)
        marks.formUnion(text.split(separator: " "))
      }
    }
    return marks
  }

  /// Does something, and sometimes looks at what a kill in the middle of it leaves: nothing that was saved before is
  /// lost, and the next mount comes to rest.
  private func killing(_ owed: Set<Substring>, _ body: () throws -> Void) throws {
    guard random.chance(0.4) else { return try body() }
    let target = copies.file("killed")
    defer { try? FileSystem.removeTree(target) }
    let last = Int.random(in: 1...90, using: &random)
    let calls = Monitor(0)
    let failure = Monitor<(any Error)?>(nil)
    let disk = try PowerDisk(path) { disk, call, _ in
      guard [.write, .sync, .truncate, .rename].contains(call) else { return }
      let isLast = calls.withLock { count in
        count += 1
        return count == last
      }
      guard isLast else { return }
      do { try disk.image(at: target, .everything) } catch { failure.withLock { $0 = error } }
    }
    defer { disk.stop() }
    try body()
    if let error = failure.withLock({ $0 }) { throw error }
    guard try FileSystem.exists(target) else { return }
    let again = try TreeAtWork(target)
    let note = "killed at call \(last) of \(log.last ?? "")"
    guard again.opened.losses.isEmpty else { throw LifeFault("\(note): \(again.opened.losses)") }
    try again.check(note)
    for _ in 0..<3 {
      try again.cut()
      try again.check(note)
    }
    let lost = owed.subtracting(try marks(in: again.store, after: 0)).subtracting(removed)
    guard lost.isEmpty else { throw LifeFault("\(note): \(lost.sorted()) are lost") }
  }

  // MARK: - Ends

  /// A kill: what the next mount shows is what was shown, under the same numbers.
  private func restart() throws {
    let copy = copies.file("copy")
    defer { try? FileSystem.removeTree(copy) }
    try copyTree(path, to: copy)
    let again = try TreeAtWork(copy)
    let (one, other) = (try work.shown(), try again.shown())
    let differing = Set(one.keys).union(other.keys).filter { one[$0] != other[$0] }
    guard differing.isEmpty else {
      let said = differing.sorted().map {
        "\($0): \(one[$0].map { "\($0)" } ?? "-") was \(other[$0].map { "\($0)" } ?? "-")"
      }
      throw LifeFault("after a restart \(said)")
    }
    guard again.opened.losses.isEmpty else { throw LifeFault("\(again.opened.losses)") }
    try again.check(log.joined(separator: "; "))
  }

  /// All is closed: after three cuts nothing is pending, and the tree is the head's.
  private func settle() throws {
    while let handle = handles.popLast() { try work.close(handle) }
    for _ in 0..<3 {
      let owed = try owed()
      try work.cut()
      try checkHead(owed)
    }
    let (shown, head) = (try work.texts(), try work.recordedTexts())
    guard shown == head else {
      let differing = Set(shown.keys).union(head.keys).filter { shown[$0] != head[$0] }
      throw LifeFault(
        "at the end \(differing.sorted().map { "\($0): \(shown[$0] as Any), head \(head[$0] as Any)" })"
      )
    }
    let pending = work.tree.pending
    guard pending.changes.isEmpty, !pending.nodes.contains(where: { $0.value.isPending }) else {
      throw LifeFault("at the end something is pending")
    }
    let reports = work.reports.withLock { $0 }
    guard reports.isEmpty else { throw LifeFault("\(reports)") }
  }
}
