import Foundation
import TestSupport

@testable import Control
@testable import Grammar
@testable import LLVSCore
@testable import Platform
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

/// A command of a fleet's member while which programs go on, and what must be true of that.
///
/// Programs do something wherever a command can be interrupted, and before, between and after what the kernel
/// is told; there, and at calls of the system in between, the store is also looked at as a killed daemon
/// would leave it. What a command itself makes of the tree is held against what was there before it went on:
///
/// - what is shown no longer is in a version, or was removed by a program;
/// - open files have the bytes that they had;
/// - what programs saved while the command worked is shown until a version takes it;
/// - a store that is left there opens with all of that, too.
///
/// Where it is strict, also: what a program saved is shown at once; until a new tree is installed nothing is
/// other than programs made it; after the next version the tree is its head, as the kernel sees it; and a
/// store that is left there opens with exactly the tree of before or after.
final class UnderWay: @unchecked Sendable {
  // Unchecked: a fleet does one thing at a time, on one thread.

  typealias Tree = [String: FleetMember.Shown]

  private struct Copy {
    var directory: String
    var installations: Int64
    var what: String
  }

  private let fleet: Fleet
  private let index: Int
  private let line: String
  private var member: FleetMember { fleet.members[index] }
  private var before: Tree
  private var handles: [UInt64: [UInt8]] = [:]
  private var installations: Int64
  /// What was shown once, and which no program took away.
  private var owed: Set<String> = []
  /// What programs saved after the plan: no version has it yet.
  private var recent: Set<String> = []
  private var copies: [Copy] = []
  private var isBusy = false
  private var isCancelled = false
  private let cancels: Bool
  private let isStrict: Bool
  private(set) var failure: (any Error)?

  init(_ fleet: Fleet, _ index: Int, _ line: String, isStrict: Bool) throws {
    self.isStrict = isStrict
    self.fleet = fleet
    self.index = index
    self.line = line
    cancels = fleet.chance(8)
    before = try fleet.members[index].tree()
    installations = try fleet.members[index].installations()
    _ = member.kernel.takeWritten()
    try noteHandles()
  }

  /// Runs the command.
  func run() throws {
    fleet.note("m\(index) \(line), under way")
    // What other threads do meanwhile is done at another time in each run.
    let thread = ObjectIdentifier(Thread.current)
    let watch = Faults.watch(below: member.path + "/") { call, phase in
      guard phase == .before, ObjectIdentifier(Thread.current) == thread else { return }
      self.leave("\(call)")
    }
    member.whileTelling { self.meet("told", isTold: true) }
    defer {
      Faults.unwatch(watch)
      member.whileTelling(nil)
    }
    let context = CommandContext(isCancelled: {
      self.meet("asked")
      if self.cancels, self.fleet.chance(30) { self.isCancelled = true }
      return self.isCancelled
    })
    do {
      if line == "cut" {
        _ = try member.service.tree.transition(.command) { (_, head) throws(StoreError) in
          self.meet("cut")
          return head
        }
      } else {
        try member.run(line, context: context)
      }
      fleet.note("  done")
    } catch let error as ControlError {
      fleet.note("  \(error.message)")
    }
    meet("end")
    if let failure { throw failure }
  }

  /// Makes a version of all that is left, here and in what a killed daemon would have left.
  func end() throws {
    let copy = try copy("the end")
    try member.run("commit")
    let saved = owed.union(Self.marks(before))
    try checkCommitted(member, saved, "commit after \(line)")
    let other = try opened(copy)
    if isStrict {
      try FleetMember.compare(before, try other.tree(), "m\(index) after \(line), killed")
    }
    try other.run("commit")
    try checkCommitted(other, saved, "commit after \(line), killed")
    if isStrict {
      try FleetMember.compare(
        try member.live(), try other.live(), "m\(index) after \(line) and commit, killed")
    }
    try FileSystem.removeTree(copy.directory)
  }

  private func named<R>(_ what: String, _ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch {
      throw Fleet.Difference("\(what): \(error)")
    }
  }

  private func checkCommitted(
    _ member: FleetMember, _ saved: Set<String>, _ what: String
  ) throws {
    if isStrict { _ = try named(what) { try member.check() } }
    try checkOwed(member, saved, what)
  }

  private func checkOwed(_ member: FleetMember, _ owed: Set<String>, _ what: String) throws {
    guard !owed.isEmpty else { return }
    var kept: Set<String> = []
    for bytes in try member.history() { kept.formUnion(Fleet.marks(in: bytes)) }
    let lost = owed.subtracting(kept)
    guard lost.isEmpty else { throw Fleet.Difference("m\(index) \(what): lost \(lost.sorted())") }
  }

  // MARK: - Where programs go on

  private func meet(_ what: String, isTold: Bool = false) {
    guard failure == nil, !isBusy else { return }
    isBusy = true
    defer { isBusy = false }
    do {
      try look(what, isTold: isTold)
      for _ in 0..<Int.random(in: 0...3, using: &fleet.random) { try deed(what, isTold: isTold) }
      if fleet.chance(25) { copies.append(try copy(what)) }
    } catch {
      failure = error
    }
  }

  private static func marks(_ tree: Tree) -> Set<String> {
    var found: Set<String> = []
    for shown in tree.values where shown.kind == .regular {
      found.formUnion(Fleet.marks(in: shown.bytes))
    }
    return found
  }

  private func noteHandles() throws {
    handles = [:]
    for one in fleet.held where one.member == index {
      handles[one.file.id] = try bytes(one.file)
    }
  }

  private func bytes(_ file: KernelModel.Open) throws -> [UInt8] {
    let tree = member.service.tree
    var bytes = [UInt8](repeating: 0, count: Int(try tree.getattr(file.id).size))
    let count = try bytes.withUnsafeMutableBytes { try tree.read(file.id, at: 0, into: $0) }
    return Array(bytes.prefix(count))
  }

  /// Looks at what the command did since it was last looked at.
  private func look(_ what: String, isTold: Bool) throws {
    let now = try named("\(what) in \(line)") { try member.tree() }
    let installations = try member.installations()
    if isStrict, let fault = try member.service.tree.fault() {
      throw Fleet.Difference("m\(index) \(what) in \(line): \(fault)")
    }
    for one in fleet.held where one.member == index {
      guard let bytes = handles[one.file.id], try self.bytes(one.file) != bytes else { continue }
      throw Fleet.Difference("m\(index) \(what) in \(line): other bytes in open \(one.file.id)")
    }
    if installations == self.installations, isStrict {
      try FleetMember.compare(before, now, "m\(index) \(what) in \(line), nothing installed")
    } else {
      let (old, new) = (Self.marks(before), Self.marks(now))
      owed.formUnion(old.subtracting(new))
      let hidden = recent.intersection(old).subtracting(new)
      guard hidden.isEmpty else {
        throw Fleet.Difference("m\(index) \(what) in \(line): no longer shown \(hidden)")
      }
    }
    let copies = self.copies
    self.copies = []
    for copy in copies {
      let other = try opened(copy)
      let isOld = try other.installations() == copy.installations
      let expected = isOld ? before : now
      let when = isOld ? "before" : "after"
      let title = "m\(index) killed at \(copy.what), \(what) in \(line), \(when)"
      if isStrict { try FleetMember.compare(expected, try other.tree(), title) }
      try other.run("commit")
      try checkCommitted(other, owed.union(Self.marks(expected)), "commit " + title)
      try FileSystem.removeTree(copy.directory)
    }
    if installations != self.installations { recent = [] }
    (before, self.installations) = (now, installations)
  }

  private func deed(_ what: String, isTold: Bool) throws {
    let holds = fleet.chance(20)
    do {
      if holds { try fleet.holdOrUse(index) } else { try fleet.edit(index) }
    } catch let error as FSError where isTold {
      // The kernel knows half of it.
      fleet.note("  \(error)")
    }
    if isStrict, let fault = try member.service.tree.fault() {
      throw Fleet.Difference("m\(index) \(what) in \(line): \(fault)")
    }
    let now = try named("\(what) in \(line), deed") { try member.tree() }
    let shown = Self.marks(now)
    let saved = Set(Fleet.marks(in: member.kernel.takeWritten()))
    let hidden = saved.subtracting(shown)
    if isStrict, !holds, !isTold, !hidden.isEmpty {
      throw Fleet.Difference("m\(index) \(what) in \(line): saved and not shown \(hidden)")
    }
    recent.formIntersection(shown)
    let isPlanned = member.service.tree.isMakingVersion
    // What another file shows too is not only in what was just saved.
    if isPlanned { recent.formUnion(saved.intersection(shown).subtracting(Self.marks(before))) }
    before = now
    try noteHandles()
  }

  // MARK: - What a killed daemon leaves

  /// Now and then at a call of the system.
  private func leave(_ what: String) {
    guard failure == nil, !isBusy, copies.count < 3, fleet.chance(2) else { return }
    isBusy = true
    defer { isBusy = false }
    do {
      copies.append(try copy(what))
    } catch {
      failure = error
    }
  }

  private func copy(_ what: String) throws -> Copy {
    let wasBusy = isBusy
    isBusy = true
    defer { isBusy = wasBusy }
    let directory = fleet.placeOfCopy()
    try FileSystem.makeDirectory(directory)
    try copyTree(member.path, to: "\(directory)/s\(index)")
    return Copy(directory: directory, installations: installations, what: what)
  }

  private func opened(_ copy: Copy) throws -> FleetMember {
    do {
      return try FleetMember(copy.directory, number: index)
    } catch {
      throw Fleet.Difference("m\(index) killed at \(copy.what) in \(line): \(error)")
    }
  }
}
