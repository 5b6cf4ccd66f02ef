import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Forgetting old versions (`Store+Forget`).
@Suite(.timeLimit(.minutes(3)))
struct ForgetTests {
  let directory: TemporaryDirectory
  private let key = Value.ID("x.db")

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("s") }

  /// A time at which every version is 1,000 days old.
  static func later() -> Int64 { SystemClock.now() + 1000 * 86_400 * 1_000_000_000 }

  /// Keeps what is not of the policy alone.
  static func least() throws -> KeepPolicy { try KeepPolicy("all:1d") }

  /// What a value's bytes can be after forgetting.
  enum Found: Equatable {
    case bytes([UInt8]?)
    case forgotten
  }

  static func read(_ key: Value.ID, at id: Version.ID, in store: Store) throws -> Found {
    do throws(StoreError) {
      return .bytes(try store.value(id: key, at: id)?.data)
    } catch {
      guard case .forgotten = error else { throw error }
      return .forgotten
    }
  }

  private func segmentBytes() throws -> UInt64 {
    let folder = "\(path)/segments"
    return try FileSystem.list(folder).reduce(0) {
      $0 + (try FileSystem.status("\(folder)/\($1)").allocated)
    }
  }

  @Test("forgotten bytes leave the disk, and everything else is as it was")
  func simple() throws {
    var random = SeededRandom(seed: 1)
    var ids: [Version.ID] = []
    var texts: [[UInt8]] = []
    var digests: [Digest] = []
    do {
      let store = try Store.open(path: path, create: true)
      for index in 0..<6 {
        texts.append(random.bytes(1_000_000))
        let change = Value(id: key, data: texts[index])
        ids.append(
          try store.makeVersion(basedOnPredecessor: ids.last, storing: [.insert(change)]).id)
      }
      digests = try ids.map { try #require(try store.version($0)).map.digest }
      let before = try segmentBytes()
      let trial = try store.forget(try Self.least(), at: Self.later(), isTrial: true)
      #expect(trial.newlyForgotten == 5 && trial.goneBytes > 5_000_000 && trial.freedBytes == 0)
      #expect(try segmentBytes() == before)
      let report = try store.forget(try Self.least(), at: Self.later())
      #expect(report.newlyForgotten == 5 && report.goneBytes == trial.goneBytes)
      #expect(report.freedBytes > 4_700_000 && !report.lacksHoles)
      #expect(try before - segmentBytes() == report.freedBytes)
      let again = try store.forget(try Self.least(), at: Self.later())
      #expect(again.newlyForgotten == 0 && again.forgotten == 5 && again.goneBytes == 0)
    }
    for mode in [AccessMode.reader, .writer] {
      let store = try Store.open(path: path, mode: mode)
      for index in 0..<6 {
        #expect(
          try Self.read(key, at: ids[index], in: store)
            == (index < 5 ? .forgotten : .bytes(texts[index])))
        #expect(try store.version(ids[index])?.map.digest == digests[index])
        #expect(
          try store.forgottenVersions().contains(VersionNumber(UInt32(index + 1))) == (index < 5))
      }
      let report = try store.verify()
      #expect(report.isSound && report.forgotten == 5, "\(report.damage)")
    }
  }

  @Test("with policy all nothing is forgotten, and nothing while the clock is behind")
  func nothing() throws {
    let store = try Store.open(path: path, create: true)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: key, data: [UInt8](repeating: 1, count: 9000))]
    )
    try store.makeVersion(basedOnPredecessor: first.id, removing: [key])
    #expect(try store.forget(.everything, at: Self.later()) == ForgetReport())
    let error = #expect(throws: StoreError.self) {
      try store.forget(try Self.least(), at: SystemClock.now() - 3600 * 1_000_000_000)
    }
    #expect("\(String(describing: error))".contains("clock"))
    #expect(try store.forget(try KeepPolicy("all:1001d"), at: Self.later()).newlyForgotten == 0)
  }

  @Test(
    "bytes that are stored again after they were forgotten are stored, and not found at their old place"
  )
  func again() throws {
    var random = SeededRandom(seed: 2)
    let text = random.bytes(3000)
    let long = random.bytes(300_000)
    let store = try Store.open(path: path, create: true)
    let values = [Value(id: key, data: text), Value(id: Value.ID("long"), data: long)]
    let first = try store.makeVersion(basedOnPredecessor: nil, inserting: values)
    let second = try store.makeVersion(
      basedOnPredecessor: first.id, removing: values.map(\.id))
    // What was found before the decision is used after it.
    let ready = try #require(try store.contents.prepare(BytesSource(text)))
    #expect(ready.known != nil)
    let report = try store.forget(try Self.least(), at: Self.later())
    #expect(report.newlyForgotten == 1)
    let stored = try store.write { (transaction) throws(StoreError) in
      transaction.set("x", to: [1])
      return try transaction.write(ready)
    }
    #expect(stored.content != .chunk(try #require(ready.known)))
    #expect(try store.contents.bytes(stored) == text)
    let third = try store.makeVersion(basedOnPredecessor: second.id, inserting: values)
    for value in values {
      #expect(try Self.read(value.id, at: third.id, in: store) == .bytes(value.data))
    }
    let entries = try [VersionNumber(1), VersionNumber(3)].map { number in
      try #require(try store.map(of: try store.version(number)).entry(at: Value.ID("long"))).stored
    }
    // A file that gets forgotten bytes again has the new ones.
    #expect(try !store.contents.isSound(entries[0], besides: entries[1]))
    // The blocks between two records may still have the old bytes, and damage there is no damage.
    try store.forget(try Self.least(), at: Self.later())
    for value in values {
      #expect(try Self.read(value.id, at: third.id, in: store) == .bytes(value.data))
    }
    #expect(try store.verify().isSound)
  }

  @Test(
    "in every random life kept versions stay, and the others are whole or forgotten",
    arguments: 1...10)
  func random(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    struct Made {
      var id: Version.ID
      var values: [Value.ID: [UInt8]]
      /// Values that it has from a version that was forgotten before.
      var inherited: Set<Value.ID> = []
    }
    var made: [Made] = []
    var heads: [Int] = []
    var blocks = (0..<12).map { _ in random.bytes(20_000) }
    let keys = ["a", "b", "c"].map { Value.ID($0) }
    for life in 0..<8 {
      let store = try Store.open(path: path, create: life == 0)
      store.limitSegments(to: 400_000)
      for _ in 0..<6 {
        // Values of few blocks have chunks in common, small changes become patches.
        let base = heads.isEmpty ? nil : heads.remove(at: pick(heads.count))
        if let base, pick(4) == 0 { heads.append(base) }
        var values = base.map { made[$0].values } ?? [:]
        let key = keys[pick(3)]
        var bytes = values[key] ?? []
        switch pick(4) {
        case 0: bytes = (0..<(1 + pick(12))).flatMap { _ in blocks[pick(12)] }
        case 1: bytes += blocks[pick(12)]
        case 2: blocks[pick(12)] = random.bytes(20_000)
        default: break
        }
        if !bytes.isEmpty {
          let at = pick(bytes.count)
          let end = min(bytes.count, at + 1 + pick(3000))
          bytes.replaceSubrange(at..<end, with: random.bytes(end - at))
        } else {
          bytes = random.bytes(100)
        }
        var inherited = base.map { made[$0].inherited } ?? []
        if let base, let record = try store.version(made[base].id),
          try store.forgottenVersions().contains(record.number)
        {
          inherited.formUnion(values.keys)
        }
        inherited.remove(key)
        values[key] = bytes
        let version = try store.makeVersion(
          basedOnPredecessor: base.map { made[$0].id },
          storing: [.insert(Value(id: key, data: bytes))])
        heads.append(made.count)
        made.append(Made(id: version.id, values: values, inherited: inherited))
      }
      if pick(3) == 0 {
        let tagged = try #require(try store.version(made[pick(made.count)].id))
        try store.write { (transaction) throws(StoreError) in
          _ = try transaction.tag(tagged, as: "t\(life)", author: nil)
        }
      }
      let roots = try store.roots(try Self.least(), at: Self.later(), outside: OutsideRoots())
      let earlier = try store.forgottenVersions()
      let report = try store.forget(
        try Self.least(), at: Self.later(), limit: [3, 20, 1_000_000][pick(3)])
      let forgotten = try store.forgottenVersions()
      for version in made {
        let number = try #require(try store.version(version.id)).number
        let isKept = roots.versions.contains(number)
        #expect(forgotten.contains(number) == (earlier.contains(number) || !isKept))
        for (key, bytes) in version.values {
          let found = try Self.read(key, at: version.id, in: store)
          let isWhole = found == .bytes(bytes)
          #expect(isWhole || found == .forgotten)
          let mayLack = !isKept || earlier.contains(number) || version.inherited.contains(key)
          #expect(isWhole || mayLack, "seed \(seed)")
        }
      }
      let verified = try store.verify()
      #expect(verified.isSound, "\(verified.damage), seed \(seed)")
      _ = report
    }
    // A second look finds nothing that the sweeps in parts left.
    let store = try Store.open(path: path)
    #expect(try store.forget(try Self.least(), at: Self.later(), isTrial: true).goneBytes == 0)
  }

  @Test("what is committed while a decision is made is kept", arguments: [true, false])
  func concurrent(isTag: Bool) throws {
    var random = SeededRandom(seed: 4)
    let text = random.bytes(60_000)
    let store = try Store.open(path: path, create: true)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: key, data: text)])
    let second = try store.makeVersion(basedOnPredecessor: first.id, removing: [key])
    let other = Value(id: Value.ID("other"), data: text)
    let tagged = try #require(try store.version(first.id))
    var calls = 0
    var made: Version?
    var control = ForgetControl()
    control.isCancelled = {
      calls += 1
      // Before the last look at what is kept.
      guard calls == 3 else { return false }
      if isTag {
        _ = try? store.write { (transaction) throws(StoreError) in
          _ = try transaction.tag(tagged, as: "t", author: nil)
        }
      } else {
        made = try? store.makeVersion(basedOnPredecessor: second.id, inserting: [other])
      }
      return false
    }
    let report = try store.forget(try Self.least(), at: Self.later(), control: control)
    #expect(report.goneBytes == 0)
    #expect(report.newlyForgotten == (isTag ? 0 : 1))
    #expect(try Self.read(key, at: first.id, in: store) == .bytes(text))
    if !isTag {
      #expect(try Self.read(other.id, at: #require(made).id, in: store) == .bytes(text))
    }
  }

  @Test("a canceled run decides nothing more, and the next one goes on")
  func cancelled() throws {
    var random = SeededRandom(seed: 5)
    let store = try Store.open(path: path, create: true)
    var last: Version.ID?
    for _ in 0..<4 {
      last = try store.makeVersion(
        basedOnPredecessor: last, storing: [.insert(Value(id: key, data: random.bytes(50_000)))]
      ).id
    }
    for calls in 1...9 {
      var count = 0
      var control = ForgetControl()
      control.isCancelled = {
        count += 1
        return count >= calls
      }
      #expect(throws: StoreError.self) {
        try store.forget(try Self.least(), at: Self.later(), limit: 1, control: control)
      }
      if try store.forgottenVersions().contains(VersionNumber(1)) { break }
    }
    let report = try store.forget(try Self.least(), at: Self.later())
    #expect(report.forgotten == 3)
    #expect(try store.verify().isSound)
  }

  @Test("a trial says where the bytes are, and what is not worth it is not forgotten")
  func examined() throws {
    var random = SeededRandom(seed: 6)
    let store = try Store.open(path: path, create: true)
    let other = Value.ID("other")
    var last: Version.ID?
    for index in 0..<4 {
      var values = [Value(id: key, data: random.bytes(400_000))]
      if index < 2 { values.append(Value(id: other, data: random.bytes(9000))) }
      last = try store.makeVersion(basedOnPredecessor: last, storing: values.map { .insert($0) }).id
    }
    var bytes: [VersionNumber: [UInt64]] = [:]
    var control = ForgetControl()
    control.examine = { (found) throws(StoreError) in
      #expect(found.versions == found.newVersions.sorted() && found.versions.count == 3)
      for number in found.versions {
        let map = store.map(of: try store.version(number))
        for key in [key, other] {
          let taken = try map.entry(at: key).map { (entry) throws(StoreError) in
            try found.take(entry.stored)
          }
          bytes[number, default: []].append(taken ?? 0)
        }
      }
    }
    let trial = try store.forget(
      try Self.least(), at: Self.later(), isTrial: true, control: control)
    #expect(trial.newlyForgotten == 3)
    #expect(bytes.values.joined().reduce(0, +) == trial.goneBytes)
    for number in 1...3 {
      let found = try #require(bytes[VersionNumber(UInt32(number))])
      #expect(found[0] > 400_000 && found[0] < 410_000)
      // The second value of the other key is the head's.
      #expect(number == 1 ? found[1] > 9000 : found[1] == 0)
    }
    control = ForgetControl()
    var seen: [ForgetReport] = []
    control.isWorthIt = {
      seen.append($0)
      return false
    }
    #expect(
      try store.forget(try Self.least(), at: Self.later(), control: control) == ForgetReport())
    #expect(seen.map(\.goneBytes) == [trial.goneBytes])
    #expect(try !store.forgottenVersions().contains(VersionNumber(1)))
    var steps: [ForgetControl.Step: UInt64] = [:]
    control.isWorthIt = { _ in true }
    control.progress = { step, done, total in
      #expect(done <= total)
      steps[step] = total
    }
    try store.forget(try Self.least(), at: Self.later(), control: control)
    #expect(steps[.reading] == 5 && steps[.freeing] == trial.goneBytes)
  }
}
