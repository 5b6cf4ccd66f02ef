import Foundation
import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs at names of their own, while another machine's files are merged, versions are made and the daemon is
/// killed between any two calls of the system.
///
/// No one else changes the programs' names, so all that they show is what programs made it: names, numbers, link
/// counts, times and bytes.
// Unchecked: one thread uses it.
final class KilledLife: @unchecked Sendable {
  private static let calls: Set<SystemCall> = [.write, .sync, .truncate, .rename]
  private let copies: TemporaryDirectory
  private var work: TreeAtWork
  private var path: String
  private var random: SeededRandom
  private let programs: OwnPrograms
  private var theirs: VersionNumber?
  private var mark = 0
  private var images = 0
  /// True while programs change something, within which there is no kill.
  private var isActing = false
  /// True while the rows of a head are prepared and its record is not synced.
  private var isPrepared = false
  private(set) var kills = 0
  var log: [String] { programs.log }

  init(seed: UInt64) throws {
    copies = try TemporaryDirectory(inMemory: true)
    random = SeededRandom(seed: seed)
    path = copies.file("0")
    try FileSystem.makeDirectory(path)
    work = try Self.open(path)
    for name in ["common", "o"] { try work.makeDirectory(name) }
    try work.save("start", "start")
    try work.cut()
    programs = OwnPrograms(
      work, prefix: "w-", shared: ["": .root, "common": try work.number("common")],
      process: getpid())
  }

  private static func open(_ path: String) throws -> TreeAtWork {
    try TreeAtWork(path, longCut: 12, isHeld: true)
  }

  func run(_ steps: Int) throws {
    for _ in 0..<steps {
      switch below(10) {
      case 0..<6: try programs.act(&random)
      case 6: try killNow()
      default: try transition()
      }
    }
    try programs.closeAll()
    for _ in 0..<3 { try work.cut() }
    try compare(work, programs.nodes, "at the end")
    try work.check(said)
  }

  private var said: String { programs.log.suffix(60).joined(separator: "; ") }
  private func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  // MARK: - Heads

  /// A version of the other machine.
  private func foreign() throws -> VersionNumber? {
    guard var base = try work.store.state().head else { return nil }
    if let theirs, try work.store.version(theirs) != nil, below(3) > 0 {
      if below(2) == 0 {
        // It merges what it got from here.
        let from = base
        base =
          try work.store.write { (transaction) throws(StoreError) in
            try transaction.mergeSides([theirs, from], live: nil).outcome
          } ?? base
      } else {
        base = theirs
      }
    } else {
      for _ in 0..<below(3) { base = try work.store.version(base)?.first ?? base }
    }
    var values: [String: String?] = [:]
    for _ in 0...below(3) {
      let path = ["x1", "x2", "common/x1", "common/x2", "o/1", "o/2/3", "start", "x/y"][below(8)]
      mark += 1
      values[path] = "theirs \(mark)"
    }
    let made = try work.others(values, on: base)
    theirs = made
    return made
  }

  /// The moment of a transition at which a kill is looked at.
  private struct Moments {
    let kill: Int
    var count = 0
    var image: (path: String, nodes: [String: OwnPrograms.Node], note: String)?
    var failure: (any Error)?
  }

  /// Lets programs act at a moment of a transition.
  private func act(_ when: String, _ target: String, _ moments: Monitor<Moments>) {
    isActing = true
    defer { isActing = false }
    do {
      try goOn { note(when, target, moments) }
    } catch {
      moments.withLock { $0.failure = error }
    }
  }

  private func transition() throws {
    let other = below(2) == 0 ? try foreign() : nil
    let name = other == nil ? "cut" : "merge"
    programs.log.append("\(name) (")
    images += 1
    let target = copies.file("\(images)")
    let moments = Monitor(Moments(kill: 1 + below(below(3) == 0 ? 120 : 40)))
    let own = SystemThread.current
    let token = Faults.watch(below: path + "/") { [self] call, phase in
      guard phase == .before, Self.calls.contains(call), SystemThread.current == own, !isActing
      else { return }
      note("\(name), call \(call)", target, moments)
    }
    let window = Faults.watch(below: path + "/journal") { [self] call, phase in
      guard phase == .before, call == .sync, SystemThread.current == own, isPrepared, !isActing
      else { return }
      act("\(name), before the sync", target, moments)
      isPrepared = false
    }
    defer {
      Faults.unwatch(token)
      Faults.unwatch(window)
    }
    _ = try work.versioner.transition(CutRequest(.command)) {
      [self]
      transaction, head throws(StoreError) in
      act("\(name), before the commit", target, moments)
      isPrepared = true
      guard let other, let head else { return head }
      return try transaction.mergeSides([head, other], live: head).outcome
    }
    isPrepared = false
    act("\(name), before the rows", target, moments)
    work.writeRows()
    programs.log.append(")")
    let end = moments.withLock { $0 }
    if let failure = end.failure { throw failure }
    try compare(work, programs.nodes, "after the transition")
    if below(3) == 0 { try work.check(said) }
    guard let image = end.image else { return }
    try mount(image.path, image.nodes, image.note)
  }

  /// Counts a moment, and keeps what a kill leaves at one of them.
  private func note(_ text: String, _ target: String, _ moments: Monitor<Moments>) {
    let isKill = moments.withLock { moments in
      moments.count += 1
      return moments.count == moments.kill
    }
    guard isKill else { return }
    do {
      try copyTree(path, to: target)
      programs.log.append("<kill>")
      let nodes = programs.nodes
      moments.withLock { $0.image = (target, nodes, text) }
    } catch {
      moments.withLock { $0.failure = error }
    }
  }

  /// What programs do during a transition, and sometimes a renewal of the journal.
  private func goOn(_ moment: () -> Void) throws {
    for _ in 0..<below(3) {
      try programs.act(&random)
      moment()
    }
    // Between the commit and the rows a renewal waits.
    guard below(3) == 0, !isPrepared, !work.versioner.isShowing else { return }
    programs.log.append("<renewal>")
    _ = try work.tree.renewJournal(isForced: true)
    for _ in 0..<below(4) {
      moment()
      try programs.act(&random)
    }
  }

  private func killNow() throws {
    images += 1
    let target = copies.file("\(images)")
    try copyTree(path, to: target)
    try mount(target, programs.nodes, "nothing under way")
  }

  // MARK: - What must be so

  /// Opens the store after a kill, which may also interrupt the opening. Sometimes the life continues there.
  private func mount(_ target: String, _ nodes: [String: OwnPrograms.Node], _ note: String) throws {
    kills += 1
    let again: TreeAtWork
    let second = target + "-again"
    if below(3) == 0 {
      let last = 1 + below(60)
      let count = Monitor(0)
      let token = Faults.watch(below: target + "/") { call, phase in
        guard phase == .before, Self.calls.contains(call) else { return }
        let isLast = count.withLock {
          $0 += 1
          return $0 == last
        }
        if isLast { try? copyTree(target, to: second) }
      }
      again = try Self.open(target)
      Faults.unwatch(token)
      if try FileSystem.exists(second) {
        let third = try Self.open(second)
        try compare(third, nodes, "killed at \(note), then at call \(last) of the mount")
        try third.check(said)
        try FileSystem.removeTree(second)
      }
    } else {
      again = try Self.open(target)
    }
    guard again.opened.losses.isEmpty else { throw LifeFault("\(note): \(again.opened.losses)") }
    try compare(again, nodes, "killed at \(note)")
    if below(2) == 0 { try again.check(said) }
    if below(3) > 0 {
      programs.log.append("[killed: \(note)]")
      let old = path
      (work, path) = (again, target)
      programs.mount(again, nodes)
      try? FileSystem.removeTree(old)
    } else {
      if below(2) == 0 {
        try again.cut()
        try compare(again, nodes, "killed at \(note), and the next cut")
      }
      try? FileSystem.removeTree(target)
    }
  }

  private func compare(
    _ work: TreeAtWork, _ nodes: [String: OwnPrograms.Node], _ note: String
  ) throws {
    let faults = try programs.faults(of: work, against: nodes)
    guard faults.isEmpty else {
      throw LifeFault("\(note): \(faults.prefix(8).joined(separator: "\n"))")
    }
  }
}
