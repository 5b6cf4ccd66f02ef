import Control
import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing
import TreeNames

@testable import SQLite
@testable import TreeSupport
@testable import WorkingTree

/// A store's whole life with a fault at its n-th call, for n over all of them: what was answered is there,
/// the store opens, `verify` is clean, and the life goes on to the same end.
///
/// LLVS_TEST_FAULTS=all tries every call; a sample is the default.
@Suite(.timeLimit(.minutes(60)), .serialized)
struct StoreLifeTests {
  private static let isExhaustive =
    ProcessInfo.processInfo.environment["LLVS_TEST_FAULTS"] == "all"
  private static let writing: Set<SystemCall> = [
    .open, .write, .truncate, .allocate, .punch, .rename, .link, .unlink, .makeDirectory,
    .removeDirectory,
  ]
  private static let reading: Set<SystemCall> = [.read, .status, .list, .lock]

  /// A way in which a call goes wrong.
  struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    var calls: Set<SystemCall>
    var action: Faults.Action
    /// The store goes on in the same process, without being opened again.
    var isOvercome = true
    var testDescription: String { name }
  }

  static let faults: [Fault] = [
    Fault(name: "a full disk", calls: writing, action: .fail(Errno.noSpace)),
    Fault(name: "a failed write", calls: writing, action: .fail(Errno.inputOutput)),
    Fault(name: "a failed read", calls: reading, action: .fail(Errno.inputOutput)),
    Fault(name: "a failed sync", calls: [.sync], action: .fail(Errno.inputOutput)),
    Fault(name: "no descriptors", calls: [.open, .list], action: .fail(Errno.tooManyOpenFiles)),
  ]

  /// The numbers of calls to try: all, or about so many spread over them.
  private static func sample(_ total: Int, about count: Int) -> [Int] {
    guard !isExhaustive, total > count else { return Array(1...max(1, total)) }
    let step = Double(total) / Double(count)
    let start = Double.random(in: 1...step)
    return (0..<count).map { min(total, Int(start + Double($0) * step)) }
  }

  /// How many calls of these kinds a life has.
  private static func count(_ calls: Set<SystemCall>) throws -> Int {
    let directory = try StoreLife.place()
    let life = try StoreLife(directory.path)
    let token = Faults.arm(
      Faults.Plan(calls: calls, below: life.faultsBelow, nth: .max, action: .die))
    defer { Faults.disarm(token) }
    try life.run()
    life.close()
    return Faults.disarm(token)
  }

  @Test("a life without faults is as it should be")
  func sound() throws {
    DatabaseFaults.install()
    let directory = try StoreLife.place()
    let life = try StoreLife(directory.path)
    try life.run()
    try Self.checkEnd(life, "no fault")
  }

  @Test("whichever call fails, nothing that was promised is missing", arguments: faults)
  func failing(_ fault: Fault) throws {
    DatabaseFaults.install()
    let total = try Self.count(fault.calls)
    var failures = 0
    var remounts: [String] = []
    for nth in Self.sample(total, about: 24) {
      let directory = try StoreLife.place()
      let life = try StoreLife(directory.path)
      let token = Faults.arm(
        Faults.Plan(
          calls: fault.calls, below: life.faultsBelow, nth: nth, times: 1, action: fault.action))
      var failure: (any Error)?
      do { try life.run() } catch { failure = error }
      Faults.disarm(token)
      let step = StoreLife.steps[min(life.answered, StoreLife.steps.count - 1)].name
      let context = "\(fault.name) at call \(nth) in \"\(step)\": \(failure.map { "\($0)" } ?? "-")"
      if failure != nil {
        failures += 1
        try Self.checkPromises(life, context)
        do { try life.run() } catch {
          #expect(!fault.isOvercome, "\(context): the same process did not go on: \(error)")
          remounts.append(step)
          life.close()
          try Self.checkPromises(life, context + ", opened again")
          try life.run()
        }
      }
      try Self.checkEnd(life, context)
    }
    #expect(total < 20 || failures > 5, "\(fault.name): \(failures) of \(total) calls were missed")
    if Self.isExhaustive {
      print("\(fault.name): \(total) calls, \(failures) failures, opened again \(remounts.count)")
    }
  }

  @Test("writes that fall short are carried on with")
  func shortWrites() throws {
    DatabaseFaults.install()
    for most in [1, 100, 4000] {
      let directory = try StoreLife.place()
      let life = try StoreLife(directory.path)
      // One byte at a time only for a while: a life writes megabytes.
      let token = Faults.arm(
        Faults.Plan(
          calls: [.write], below: life.faultsBelow, times: most == 1 ? 5000 : .max,
          action: .short(most)))
      do {
        defer { Faults.disarm(token) }
        try life.run()
      }
      try Self.checkEnd(life, "writes of \(most) bytes")
    }
  }

  @Test("whichever call the process dies at, nothing that was answered is missing")
  func dying() async throws {
    let calls = Self.writing.union([.sync])
    let total = try Self.count(calls)
    let other = try StoreLife.other.get()
    for nth in Self.sample(total, about: 24) {
      let directory = try StoreLife.place()
      let path = directory.path
      _ = try StoreLife(path)
      await #expect(processExitsWith: .exitCode(137)) {
        [path = path as String, other = other as String, nth = nth as Int] in
        DatabaseFaults.install()
        let life = try StoreLife(path, other: other)
        let noted = try File(path + "/answered", [.readWrite, .create])
        _ = Faults.arm(
          Faults.Plan(
            calls: [
              .open, .write, .truncate, .allocate, .punch, .rename, .link, .unlink, .makeDirectory,
              .removeDirectory, .sync,
            ], below: life.faultsBelow, nth: nth, action: .dieAfter(40)))
        try life.run { try noted.write([UInt8($0)], at: 0) }
        SystemProcess.exitAtOnce(137)
      }
      let life = try StoreLife(path)
      life.answered = Int(try FileSystem.read(path + "/answered", atMost: 8).first ?? 0)
      let context = "died at call \(nth) of \(total)"
      try Self.checkPromises(life, context)
      try life.run()
      try Self.checkEnd(life, context)
    }
    if Self.isExhaustive { print("death: \(total) calls") }
  }

  // MARK: What must hold

  /// What was answered is there, whatever else came of the step under way.
  private static func checkPromises(_ life: StoreLife, _ context: String) throws {
    let service: ControlService
    do { service = try life.opened() } catch {
      Issue.record("\(context): the store does not open: \(error)")
      throw error
    }
    let (least, most) = (
      StoreLife.expected(life.answered), StoreLife.expected(life.answered + 1)
    )
    for name in StoreLife.names {
      let found = try life.read(name)
      // A file that is being replaced may be empty or cut short; that is the writer's step.
      let isUnderWay = least[name] != most[name]
      let isPart = isUnderWay && found.map { (most[name] ?? "").hasPrefix($0) } ?? true
      #expect(
        found == least[name] || isPart,
        "\(context): \(name) is \(String(describing: found?.prefix(40)))")
    }
    let peers = try service.store.peers().map(\.name)
    #expect(life.answered < 2 || peers == ["usb"], "\(context)")
    if life.answered >= 10 {
      #expect(try service.store.version(tagged: "lasting") != nil, "\(context): the tag is gone")
    }
    if life.answered == 8 {
      #expect(try service.openConflicts().count <= 1, "\(context)")
    } else if life.answered >= 9, ![12, 13].contains(life.answered) {
      #expect(try service.openConflicts().isEmpty, "\(context): settled, and open again")
    }
    let report = try service.store.verify()
    #expect(report.isSound, "\(context): \(report.damage)")
  }

  /// The life has come to the end that it has without faults, and says so when it is opened again.
  private static func checkEnd(_ life: StoreLife, _ context: String) throws {
    #expect(life.answered == StoreLife.steps.count, "\(context)")
    for isOpenedAgain in [false, true] {
      if isOpenedAgain { life.close() }
      try checkPromises(life, "\(context), at the end\(isOpenedAgain ? ", opened again" : "")")
    }
    let service = try life.opened()
    #expect(service.tree.pending().unsaved == [], "\(context)")
    // Whoever takes in what was sent has the same.
    let check = try Store.open(path: life.directory + "/y-check", mode: .writer, create: true)
    let report = try FolderFormat.files.retrieve(into: check, life.folder)
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(context): \(report.refused)")
    let head = try service.store.state().head.flatMap { try service.store.version($0) }
    #expect(
      try head.flatMap { try check.version($0.id) }?.map.digest == head?.map.digest,
      "\(context): the head was not sent")
    #expect(try check.verify().isSound, "\(context)")
    // A backup is whole.
    let backup = try Store.open(path: life.backup, mode: .writer)
    #expect(try backup.verify().isSound, "\(context): the backup")
    #expect(try backup.version(tagged: "lasting") != nil, "\(context): the backup")
  }
}
