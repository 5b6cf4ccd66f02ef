import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs of two processes at random on few names, among cuts and merges of what another machine changed.
///
/// Each text is lines of marks, of which each is written once, and clashes keep the lines of both sides. So a mark that
/// another machine wrote is in the head, unless the other machine or a program that saw it removed it.
final class BehindLife {
  /// The other machine's part in a life.
  enum Others: CaseIterable {
    /// It changes what programs change.
    case same
    /// It changes a file that no program here touches.
    case elsewhere
    /// It adds names to directories that programs change, and changes nothing that exists.
    case within
  }

  let work: TreeAtWork
  private let path: String
  private let isLate: Bool
  private let others: Others
  private let copies: TemporaryDirectory
  private var steps: RandomSteps
  private var count = 0
  private var handles: [(number: InodeNumber, handle: HandleNumber)] = []
  /// The marks at each path that a process has read, when it last read or replaced the file there.
  private var sights: [Int32: [String: Set<Substring>]] = [:]
  /// The paths that a process ever read: it may be behind there after the name went elsewhere.
  private var everRead: Set<String> = []
  /// Marks of the other machine that were merged, and those that it, or a program that saw them, removed.
  private var (theirs, dropped): (Set<Substring>, Set<Substring>) = ([], [])
  /// Marks that programs removed, of those that the other machine did not write.
  private var removed: Set<Substring> = []
  /// The marks that programs unlinked at each path since the last cut, while no name moved.
  private var unlinked: [String: Set<Substring>] = [:]
  /// What was done.
  private(set) var log: [String] = []
  /// What was shown after each transition, and the versions.
  private(set) var transcript: [String] = []

  init(_ steps: RandomSteps, in path: String, _ others: Others, isLate: Bool) throws {
    (self.steps, self.path, self.others, self.isLate) = (steps, path, others, isLate)
    work = try TreeAtWork(path, longCut: isLate ? 0 : .max, isHeld: isLate)
    copies = try TemporaryDirectory(inMemory: true)
    try work.makeDirectory("d")
    for path in ["a", "b", "d/a", "other"] { try work.save(path, newMark()) }
    try work.cut()
  }

  func run(_ transitions: Int) throws {
    for _ in 0..<transitions {
      for _ in 0..<below(5) { try steps.step { try act() } }
      try steps.step { try transition() }
    }
    for (_, handle) in handles { try work.close(handle) }
    handles = []
    for _ in 0..<3 { try cut(isAlone: true) }
    try check(work, "at the end")
    let (shown, head) = (try work.texts(), try work.recordedTexts())
    guard shown == head, work.tree.pending.changes.isEmpty else {
      throw LifeFault("at the end \(shown) is shown, the head is \(head)")
    }
    for number in 1...work.store.lastNumber {
      guard let version = try work.store.version(VersionNumber(number)) else { continue }
      // Which side of a merge is the first depends on the clock.
      let sides = [version.first, version.second].compactMap { $0?.rawValue }.sorted()
      transcript.append("\(number): \(sides)")
    }
  }

  // MARK: - Programs

  private func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &steps) }

  private func newMark() -> String {
    count += 1
    return "m\(count)\n"
  }

  private func marks(_ text: String?) -> Set<Substring> { Set((text ?? "").split(separator: "\n")) }

  private func marks(in texts: [String: String?]) -> Set<Substring> {
    texts.values.reduce(into: []) { $0.formUnion(marks($1)) }
  }

  private func pick() -> String { ["a", "b", "c", "d/a", "d/b", "d", "e", "e/a"][below(8)] }

  /// One thing that a program does; what is not allowed does nothing.
  private func act() throws {
    let before = try work.texts()
    let (one, other, process) = (pick(), pick(), [BehindWork.p, BehindWork.q][below(2)])
    let note = "\(process == BehindWork.p ? "p" : "q")"
    var spared: Set<Substring> = []
    var isSure = true
    do {
      switch below(20) {
      case 0..<4:
        guard let text = before[one], let text else { return }
        log.append("\(note) reads \(one)")
        try work.tree.release(
          try work.tree.open(work.number(one), mode: .read, process: process).handle)
        sights[process, default: [:]][one] = marks(text)
        everRead.insert(one)
      case 4..<11:
        guard before[one] == nil || before[one] ?? nil != nil else { return }
        // What the program did not see is merged.
        let seen = sights[process]?[one]
        if let seen { spared = marks(before[one] ?? nil).subtracting(seen) }
        isSure = !everRead.contains(one)
        let way = BehindWork.Way.allCases[below(BehindWork.Way.allCases.count)]
        let text = newMark()
        log.append("\(note) saves \(one) \(way) \(text.dropLast())")
        if before[one] == nil {
          try create(one, text, process)
        } else {
          try save(one, text, way, process)
        }
        if seen != nil { sights[process]?[one] = marks(text) }
      case 11:
        try unsighted(one) {
          log.append("unlink \(one)"); try work.unlink(one)
          unlinked[one, default: []].formUnion(marks(before[one] ?? nil))
        }
      case 12:
        try unsighted(one) {
          log.append("rmdir \(one)"); try work.removeDirectory(one)
        }
      case 13:
        try unsighted(one) {
          log.append("mkdir \(one)"); try work.makeDirectory(one)
        }
      case 14, 15:
        try unsighted(one, other) {
          log.append("mv \(one) \(other)"); try work.rename(one, other)
        }
      case 16:
        try unsighted(one, other) {
          log.append("exchange \(one) \(other)")
          try work.rename(one, other, .exchange)
        }
      case 17:
        try unsighted(other) {
          log.append("ln \(one) \(other)"); try work.link(one, other)
        }
      default: try useHandle(one, before)
      }
    } catch let error as FSError {
      switch error {
      case .store, .system: throw error
      default: log.removeLast()
      }
    }
    let shown = try work.texts()
    let gone = marks(in: before).subtracting(marks(in: shown))
    dropped.formUnion(gone.subtracting(spared))
    if isSure { removed.formUnion(gone.subtracting(theirs)) }
  }

  private func unsighted(_ paths: String..., body: () throws -> Void) throws {
    let known = unlinked
    try body()
    if unlinked == known { unlinked = [:] }
    for process in sights.keys {
      sights[process] = sights[process]?.filter { path, _ in
        !paths.contains { path == $0 || path.hasPrefix("\($0)/") }
      }
    }
  }

  private func useHandle(_ path: String, _ shown: [String: String?]) throws {
    if handles.count > 2 || below(2) == 0, !handles.isEmpty {
      let (number, handle) = handles[below(handles.count)]
      if below(2) == 0 {
        log.append("append \(number.rawValue)")
        try work.write(newMark(), through: handle, at: try work.tree.status(of: number).size)
        if below(2) == 0 { try work.tree.flush(handle) }
      } else {
        log.append("close \(number.rawValue)")
        handles.removeAll { $0.handle == handle }
        try work.close(handle)
      }
    } else if shown[path] ?? nil != nil {
      log.append("open \(path)")
      handles.append(try work.open(path))
    }
  }

  private func create(_ path: String, _ text: String, _ process: Int32) throws {
    let place = try work.place(path)
    let (status, handle) = try work.tree.create(
      place.directory, place.name, mode: 0o644, open: .write,
      caller: Caller(uid: 1000, gid: 1000, process: process, umask: 0o022))
    work.tree.forget(status.number, count: 1)
    try work.write(text, through: handle)
    try work.close(handle)
  }

  private func save(
    _ path: String, _ text: String, _ way: BehindWork.Way, _ process: Int32
  ) throws {
    let number = try work.number(path)
    switch way {
    case .emptying, .cutting:
      let isCut = way == .cutting
      let handle = try work.tree.open(
        number, mode: isCut ? [.read, .write] : [.write, .truncate], process: process
      ).handle
      if isCut { try work.tree.resize(number, to: 0, through: handle) }
      try work.write(text, through: handle)
      try work.close(handle)
    case .inPlace:
      let handle = try work.tree.open(number, mode: .write, process: process).handle
      try work.write(text, through: handle)
      try work.tree.resize(number, to: UInt64(text.utf8.count), through: handle)
      try work.close(handle)
    case .renaming:
      try create("new", text, process)
      try work.tree.rename(
        work.place("new"), to: work.place(path), mode: .replacing, process: process)
    case .puttingAside:
      try work.tree.rename(
        work.place(path), to: work.place("aside"), mode: .replacing, process: process)
      try create(path, text, process)
      try work.unlink("aside")
    }
  }

  // MARK: - Heads

  /// A version of the other machine on one of the last heads.
  private func foreign() throws -> VersionNumber? {
    guard var base = try work.store.state().head else { return nil }
    for _ in 0..<below(3) {
      let record = try work.store.version(base)
      base = [record?.first, record?.second].compactMap { $0 }.min() ?? base
    }
    var values: [String: String?] = [:]
    let paths =
      switch others {
      case .same: ["a", "b", "c", "d/a", "d/b", "e/a"]
      case .elsewhere: ["other"]
      case .within: ["c", "d", "d", "e", "e"].map { "\($0)/t\(count)" }
      }
    let map = try work.store.version(base).map { work.store.map(of: $0) }
    for _ in 0...below(2) {
      let path = paths[below(paths.count)]
      guard values[path] == nil else { continue }
      let entry = try map?.entry(at: KeyCoding.key(ofPath: Array(path.utf8)))
      let text = entry.map { String(decoding: work.store.readable($0.stored), as: UTF8.self) }
      switch below(4) {
      case 0:
        guard text != nil else { continue }
        values[path] = .some(nil)
        dropped.formUnion(marks(text))
      case let kind:
        let new = newMark()
        theirs.formUnion(marks(new))
        values[path] = kind == 1 ? new : (text ?? "") + new
        if kind == 1 { dropped.formUnion(marks(text)) }
      }
    }
    guard !values.isEmpty else { return nil }
    log.append("others on \(base.rawValue): \(values)".replacing("\n", with: " "))
    return try work.others(values, on: base)
  }

  private func transition() throws {
    var other: VersionNumber?
    if below(3) > 0 { try steps.step { other = try foreign() } }
    try cut(merging: other)
  }

  private func cut(merging other: VersionNumber? = nil, isAlone: Bool = false) throws {
    let (start, last) = (try work.store.state().head, work.store.lastNumber)
    let store = work.store
    var request = CutRequest(.command)
    request.maker.arbiter = { ContentArbiter(.union, $0, store.contents) }
    let (before, seen) = (try work.texts(), try work.seenNames())
    let mayComeBack = other != nil || !handles.isEmpty || !work.tree.pending.orphans.isEmpty
    let removed = mayComeBack ? [:] : unlinked.filter { before[$0.key] == nil }
    var hasActed = false
    log.append("cut \(other.map { "and merge \($0.rawValue)" } ?? "") (")
    var failure: (any Error)?
    func between() {
      guard !isAlone else { return }
      do {
        for _ in 0..<[0, 0, 1, 2, 3][below(5)] {
          hasActed = true
          try steps.step { try act() }
        }
      } catch {
        failure = error
      }
    }
    _ = try work.versioner.transition(request) { transaction, head throws(StoreError) in
      between()
      guard let other, let head else { return head }
      return try transaction.mergeSides([head, other], live: head) {
        ContentArbiter(.union, $0, store.contents)
      }.outcome
    }
    log.append("|")
    let isForeign = other != nil
    for (path, marks) in removed where !hasActed {
      let back = try self.marks(work.texts()[path] ?? nil).intersection(marks)
      guard back.isEmpty else { throw LifeFault("\(back.sorted()) are back at \(path)") }
    }
    // Of a cut alone the rows may be written later; until then programs go on.
    if !isForeign { between() }
    let shown = try work.texts()
    work.writeRows()
    if let failure { throw failure }
    log.append(")")
    try work.check(log.joined(separator: "; "))
    if !hasActed {
      let names = try work.namesWithoutNotice(since: seen)
      guard names.isEmpty else { throw LifeFault("\(names) changed without a notice") }
    }
    if !isForeign, others == .elsewhere, try work.texts() != shown {
      throw LifeFault("the end of a cut shows \(try work.texts()) in place of \(shown)")
    }
    if others == .elsewhere { try checkLine(start, last, other) }
    unlinked = [:]
    let epochs = work.tree.epochs
    let unknown = work.tree.pending.epochsInUse.filter { epochs[$0] == nil }
    guard unknown.isEmpty else { throw LifeFault("epochs without a version: \(unknown)") }
    let texts = try work.texts().sorted { $0.key < $1.key }
    // The lines of both sides are in the order of the clock.
    transcript.append("\(texts.map { "\($0) \($1.map { marks($0).sorted() } as Any)" })")
    if below(4) == 0 { try steps.step { try kill() } }
  }

  /// Where the other machine changes nothing that programs here change, a cut makes one version at most, on the head.
  private func checkLine(
    _ start: VersionNumber?, _ last: UInt32, _ other: VersionNumber?
  ) throws {
    guard last < work.store.lastNumber else { return }
    var own = 0
    for number in last + 1...work.store.lastNumber {
      guard let version = try work.store.version(VersionNumber(number)) else { continue }
      if version.second != nil {
        guard other != nil, version.first == other || version.second == other else {
          throw LifeFault("version \(number) merges what programs here did")
        }
      } else {
        own += 1
        guard version.first == start, own == 1 else {
          throw LifeFault("\(number) is a side version")
        }
      }
    }
    if let head = try work.store.state().head {
      let conflicts = try work.store.openConflicts(at: head) { $0.rawValue != "other" }
      guard conflicts.isEmpty else { throw LifeFault("conflicts: \(conflicts.map(\.key))") }
    }
  }

  /// What a kill leaves shows the same, and ends with all that the other machine wrote.
  private func kill() throws {
    let target = copies.file("killed")
    defer { try? FileSystem.removeTree(target) }
    try copyTree(path, to: target)
    let again = try TreeAtWork(target)
    guard again.opened.losses.isEmpty else { throw LifeFault("\(again.opened.losses)") }
    guard try again.texts() == work.texts() else {
      throw LifeFault("killed, shows \(try again.texts()) in place of \(try work.texts())")
    }
    let store = again.store
    var request = CutRequest(.command)
    request.maker.arbiter = { ContentArbiter(.union, $0, store.contents) }
    for _ in 0..<3 { try again.versioner.transition(request) }
    try check(again, "killed")
  }

  /// All that the other machine wrote is in the head or listed, unless it was removed by who saw it.
  private func check(_ work: TreeAtWork, _ when: String) throws {
    try work.check(log.joined(separator: "; "))
    let lost = theirs.subtracting(marks(in: try work.recordedTexts())).subtracting(dropped)
    guard lost.isEmpty else { throw LifeFault("\(when) \(lost.sorted()) of others are lost") }
    let back = others == .within ? removed.intersection(marks(in: try work.texts())) : []
    guard back.isEmpty else { throw LifeFault("\(when) \(back.sorted()) are back") }
  }
}
