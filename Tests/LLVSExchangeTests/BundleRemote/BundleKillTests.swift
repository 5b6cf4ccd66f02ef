import Foundation
import ObjectStores
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange

/// An exchange that is killed at any of its requests loses nothing, and the next one goes on.
@Suite("Exchanges with a remote of bundles that are killed", .timeLimit(.minutes(5)))
struct BundleKillTests {
  /// What is done while requests are killed.
  enum Work: CaseIterable, CustomTestStringConvertible {
    case send, replacement, removal, retrieve

    var testDescription: String { "\(self)" }
  }

  private func remote(_ world: RemoteWorld, combining: Int) -> BundleRemote {
    world.remote { $0.combining = CombiningRules(runLength: combining, goal: 1 << 20) }
  }

  /// Makes a remote at which two stores have met, up to where the work is due.
  private func prepare(
    _ work: Work, _ place: () throws -> RemoteWorld
  ) throws -> (world: RemoteWorld, a: Store, b: Store) {
    let world = try place()
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 31)
    let shared = random.bytes(70_000)
    for index in 0..<5 {
      try world.make(a, ["k\(index)": random.bytes(3000), "long": shared + [UInt8(index)]])
      _ = try remote(world, combining: 100).send(from: a, ExchangeControl())
    }
    try world.retrieve(b)
    // The other store relies on what the first has put.
    try world.make(b, ["copy": shared + [3], "own": random.bytes(2000)], removing: ["long"])
    _ = try remote(world, combining: 100).send(from: b, ExchangeControl())
    try world.retrieve(a)
    switch work {
    case .send:
      // More than one bundle, with items that are left out.
      for index in 0..<3 { try world.make(a, ["big\(index)": random.bytes(700_000)]) }
      try world.make(a, ["again": shared + [3]])
    case .replacement: try world.make(a, ["k": [1]])
    case .removal:
      try world.make(a, ["k": [1]])
      _ = try remote(world, combining: 4).send(from: a, ExchangeControl())
      world.clock.advance(hours: 25)
      try world.make(b, ["l": [1]])
      _ = try remote(world, combining: 100).send(from: b, ExchangeControl())
    case .retrieve:
      for index in 0..<3 { try world.make(a, ["big\(index)": random.bytes(400_000)]) }
      _ = try remote(world, combining: 100).send(from: a, ExchangeControl())
    }
    return (world, a, b)
  }

  private func run(_ work: Work, _ world: RemoteWorld, _ a: Store, _ b: Store) throws {
    switch work {
    case .retrieve: try world.retrieve(b)
    case .send: _ = try remote(world, combining: 100).send(from: a, ExchangeControl())
    case .replacement, .removal:
      _ = try remote(world, combining: 4).send(from: a, ExchangeControl())
    }
  }

  /// Returns what a store that was never here finds.
  private func found(_ world: RemoteWorld, _ name: String) throws -> [Version.ID: Digest] {
    let fresh = try world.store(name)
    let report = try world.retrieve(fresh)
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused + report.waiting)")
    return try RemoteWorld.content(fresh)
  }

  @Test(
    "nothing that was sent is lost, wherever it is killed, and all is there afterwards",
    arguments: Work.allCases)
  func killed(work: Work) throws {
    try kill(work, each: 1) { try RemoteWorld() }
  }

  @Test(
    "nothing that was sent is lost at a server either", .enabled(if: RemoteWorld.server != nil),
    arguments: Work.allCases)
  func killedAtServer(work: Work) throws {
    try kill(work, each: 4, RemoteWorld.onServer)
  }

  /// Kills the work at its requests, `each` of so many.
  private func kill(_ work: Work, each: Int, _ place: () throws -> RemoteWorld) throws {
    var count = 0
    do {
      let (world, a, b) = try prepare(work, place)
      world.objects.reset()
      try run(work, world, a, b)
      count = world.objects.counts.requests
      if work == .replacement { #expect(world.objects.counts.puts.count >= 2) }
      if work == .removal { #expect(world.objects.counts.deletes.count >= 4) }
    }
    #expect(count > 1)
    for request in stride(from: 0, to: count, by: each) {
      for isAnswerLost in [false, true] {
        let (world, a, b) = try prepare(work, place)
        let before = try found(world, "before")
        world.objects.reset(kill: .init(request: request, isAnswerLost: isAnswerLost))
        #expect(throws: StoreError.self) { try run(work, world, a, b) }
        world.objects.reset()
        let after = try found(world, "killed")
        #expect(Set(after.keys).isSuperset(of: before.keys), "request \(request)")
        try run(work, world, a, b)
        if work == .retrieve {
          #expect(try RemoteWorld.content(b) == RemoteWorld.content(a), "request \(request)")
        } else {
          let all = try RemoteWorld.content(a)
          for (id, digest) in try found(world, "after") {
            #expect(all[id] == digest || (try? b.version(id)) != nil)
          }
          #expect(try Set(found(world, "again").keys).isSuperset(of: all.keys), "\(request)")
        }
        // And what is announced goes in the end, without taking anything along.
        world.clock.advance(hours: 50)
        try world.make(b, ["later": [UInt8(request)]])
        try world.send(b)
        try world.retrieve(a)
        try world.send(a)
        world.clock.advance(hours: 50)
        try world.make(b, ["later": [UInt8(request), 1]])
        try world.send(b)
        try world.retrieve(a)
        try world.send(a)
        #expect(
          try Set(found(world, "end").keys).isSuperset(of: RemoteWorld.content(a).keys),
          "request \(request), \(isAnswerLost)")
      }
    }
  }
}
