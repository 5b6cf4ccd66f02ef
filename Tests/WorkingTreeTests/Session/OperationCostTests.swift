import AllocationCounter
import Platform
import SQLite
import Synchronization
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import TreeSupport

/// What file operations cost, in numbers that do not depend on the machine: the blocks of memory
/// that they allocate and the calls of the system that they make.
///
/// A test fails if an operation costs more than its bound, and also if it costs much less: then the
/// bound has to follow. The bounds are those of a debug build, whose numbers are above those of a
/// release build. Which kinds of tests there are: docs/testing.md.
@Suite("Costs of file operations", .timeLimit(.minutes(2)))
struct OperationCostTests {
  /// The number of times that an operation is done; bounds are for all of them, so that what
  /// happens seldom counts too.
  private static let rounds = 64

  /// The greatest cost of 64 operations of one kind.
  struct Bound: CustomTestStringConvertible, Sendable {
    var operation: Operation
    var allocations: Int
    var calls: [SystemCall: Int]

    var testDescription: String { operation.rawValue }
  }

  enum Operation: String, Sendable {
    case lookup, getattr, list, create, write, read, version
    case openAndRead = "open and read"
  }

  static let bounds: [Bound] = [
    Bound(operation: .lookup, allocations: 0, calls: [:]),
    Bound(operation: .getattr, allocations: 0, calls: [:]),
    Bound(operation: .list, allocations: 8000, calls: [:]),
    // The journal's records of the file that is made, and of its save; the save looks its names up.
    Bound(operation: .create, allocations: 2600, calls: [.write: 128]),
    // The bytes together with the change that names them.
    Bound(operation: .write, allocations: 1600, calls: [.write: 64]),
    Bound(operation: .read, allocations: 832, calls: [:]),
    Bound(operation: .openAndRead, allocations: 832, calls: [:]),
    // Three syncs and 40 writes each; the chunk before may be the base of a patch.
    Bound(
      operation: .version, allocations: 120_000,
      calls: [.read: 128, .status: 448, .sync: 208, .write: 2700]),
  ]

  private let directory: TemporaryDirectory
  private let mount: MountedTree

  init() throws {
    // Before the store is opened, so that its databases' calls count.
    DatabaseFaults.install()
    directory = try TemporaryDirectory()
    mount = try MountedTree.unhurried(directory.path)
    try mount.makeDirectory("d")
    for number in 0..<10 { try mount.save("d/\(number)", [UInt8](repeating: 7, count: 4096)) }
    try mount.cut()
  }

  /// Returns a closure that does an operation once, for the number of a round.
  private func body(_ operation: Operation) throws -> (Int) throws -> Void {
    let tree = mount.tree
    let block = [UInt8](repeating: 1, count: 4096)
    var buffer = block
    switch operation {
    case .lookup:
      let parent = try mount.inode("d")
      let name = Array("3".utf8)
      _ = try tree.lookup(TreeSession.rootInode, Array("d".utf8))
      return { _ in tree.forget(try tree.lookup(parent, name).node, count: 1) }
    case .getattr:
      let node = try tree.lookup(TreeSession.rootInode, Array("d".utf8)).node
      return { _ in _ = try tree.getattr(node) }
    case .list:
      let node = try tree.lookup(TreeSession.rootInode, Array("d".utf8)).node
      return { _ in _ = try tree.list(node) }
    case .create:
      return { round in try mount.close(try mount.create("new-\(round)")) }
    case .write:
      let handle = try mount.create("written")
      return { _ in try mount.write(handle, block) }
    case .read:
      let node = try tree.lookup(TreeSession.rootInode, Array("d".utf8)).node
      let file = try tree.lookup(node, Array("3".utf8)).node
      return { _ in
        let count = try buffer.withUnsafeMutableBytes { try tree.read(file, at: 0, into: $0) }
        #expect(count == 4096)
      }
    case .openAndRead:
      let parent = try tree.lookup(TreeSession.rootInode, Array("d".utf8)).node
      let node = try tree.lookup(parent, Array("4".utf8)).node
      return { _ in
        let handle = try tree.open(node, mode: .read)
        let count = try buffer.withUnsafeMutableBytes { try tree.read(node, at: 0, into: $0) }
        #expect(count == 4096)
        try tree.release(handle)
      }
    case .version:
      return { round in
        try mount.save("d/5", [UInt8(round & 0xFF)] + block)
        #expect(try mount.cut().cut != nil)
      }
    }
  }

  /// Does an operation so often that what it does once is done, then counts while it is done 64
  /// times.
  private func count<R>(_ operation: Operation, _ counter: (() throws -> Void) throws -> R) throws
    -> R
  {
    let body = try body(operation)
    for round in 0..<Self.rounds { try body(round) }
    return try counter {
      for round in Self.rounds..<2 * Self.rounds { try body(round) }
    }
  }

  @Test("No operation allocates more blocks than its bound", arguments: bounds)
  func allocations(_ bound: Bound) throws {
    try #require(llvs_counts_allocations())
    let counted = try count(bound.operation) { work in
      let before = llvs_allocations_of_thread()
      try work()
      return Int(llvs_allocations_of_thread() - before)
    }
    check(counted, "blocks", atMost: bound.allocations, bound)
  }

  @Test("No operation asks the disk for more than its bound", arguments: bounds)
  func calls(_ bound: Bound) throws {
    let counts = Counts()
    let counted = try count(bound.operation) { work in
      // The index is written in the background, in batches that differ from run to run.
      let thread = SystemThread.current
      let token = Faults.watch(below: directory.path) { call, phase in
        guard SystemThread.current == thread else { return }
        if phase == .before { counts.calls.withLock { $0[call, default: 0] += 1 } }
      }
      defer { Faults.unwatch(token) }
      try work()
      return counts.calls.withLock { $0 }
    }
    for call in SystemCall.allCases {
      check(counted[call] ?? 0, call.rawValue, atMost: bound.calls[call] ?? 0, bound)
    }
  }

  private final class Counts: Sendable {
    let calls = Mutex<[SystemCall: Int]>([:])
  }

  private func check(_ counted: Int, _ what: String, atMost limit: Int, _ bound: Bound) {
    #expect(
      counted <= limit,
      "\(Self.rounds) times \(bound.operation.rawValue): \(counted) \(what), more than \(limit)")
    #if DEBUG
      #expect(
        counted >= limit * 3 / 4,
        "\(Self.rounds) times \(bound.operation.rawValue): \(counted) \(what), set the bound \(limit) to it"
      )
    #endif
  }

  @Test("The counter counts the blocks of this thread, and no others")
  func counter() throws {
    try #require(llvs_counts_allocations())
    var kept: [[UInt8]] = []
    kept.reserveCapacity(100)
    let before = llvs_allocations_of_thread()
    for size in 1...100 { kept.append([UInt8](repeating: 0, count: size)) }
    #expect(llvs_allocations_of_thread() - before >= 100)
    let thread = try SystemThread(name: "counted") {
      for size in 1...100 { withExtendedLifetime([UInt8](repeating: 0, count: size)) {} }
    }
    let between = llvs_allocations_of_thread()
    thread.join()
    #expect(llvs_allocations_of_thread() - between < 10 && kept.count == 100)
  }
}
