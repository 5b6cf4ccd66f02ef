import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// A model of attributes in plain values, beside a working tree that is given the same calls at random.
struct AttributeLife {
  /// The attributes of a file or directory.
  struct Model {
    var name: String
    var mode: UInt32
    var size: UInt64
    /// Nil once the clock gave it.
    var mtime: Attributes.Time?
    var atime: Attributes.Time?
    var extended: [String: [UInt8]] = [:]
  }

  let fixture: FileFixture
  private let kind: JournalKind
  private var random: SeededRandom
  private var models: [InodeNumber: Model] = [:]
  private var last = ""

  init(seed: UInt64, over kind: JournalKind) throws {
    self.kind = kind
    random = SeededRandom(seed: seed)
    fixture = try FileFixture(["a": [1, 2, 3], "b": [4], "d/x": [5]], over: kind)
    let long = [UInt8](repeating: 1, count: 700)
    // The fixture compares what its journals say only as long as it has its first head.
    let hasLong = seed % 2 == 0
    if hasLong {
      let list = [Attributes.Extended(name: Array("user.1".utf8), value: long)]
      try fixture.give([
        "a": Attributes(extended: list), "d": Attributes(mode: 0o700, extended: list),
      ])
    }
    for name in ["a", "b", "d"] {
      let status = try fixture.tree.status(of: try fixture.number(name))
      models[status.number] = Model(
        name: name, mode: status.mode, size: status.size, mtime: status.mtime, atime: status.mtime)
      if hasLong, name != "b" { models[status.number]?.extended["user.1"] = long }
    }
  }

  private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  private mutating func time() -> Attributes.Time {
    Attributes.Time(seconds: Int64(below(1 << 30)) - 1 << 20, nanoseconds: UInt32(below(1 << 29)))
  }

  mutating func act() throws {
    let number = models.keys.sorted()[below(models.count)]
    guard var model = models[number] else { return }
    switch below(3) {
    case 0: try setAttributes(number, &model)
    case 1: try setExtended(number, &model)
    default: try removeExtended(number, &model)
    }
    models[number] = model
  }

  private mutating func setAttributes(_ number: InodeNumber, _ model: inout Model) throws {
    var change = StatusChange()
    if below(2) == 0 { change.mode = UInt32(below(0o10000)) }
    if below(3) == 0 { change.mtime = time() }
    if below(3) == 0 { change.atime = time() }
    if below(4) == 0, model.name != "d" { change.size = UInt64(below(10)) }
    last = "\(model.name) \(change)"
    _ = try fixture.tree.setattr(number, change)
    if let mode = change.mode { model.mode = mode }
    if let size = change.size { (model.size, model.mtime) = (size, nil) }
    if let mtime = change.mtime { model.mtime = mtime }
    if let atime = change.atime { model.atime = atime }
  }

  private mutating func setExtended(_ number: InodeNumber, _ model: inout Model) throws {
    let (name, value) = ("user.\(below(4))", random.bytes(below(4) == 0 ? below(3000) : below(20)))
    let mode = ExtendedMode(rawValue: UInt8(below(3)))
    last = "setxattr \(model.name) \(name) \(value.count) \(mode.rawValue)"
    let isThere = model.extended[name] != nil
    do {
      try fixture.tree.setxattr(number, Array(name.utf8), value, mode: mode)
      #expect(mode.rawValue == 0 || isThere == mode.contains(.replace), "\(note)")
      model.extended[name] = value
    } catch FSError.exists {
      #expect(isThere && mode.contains(.create), "\(note)")
    } catch FSError.noData {
      #expect(!isThere && mode.contains(.replace), "\(note)")
    }
  }

  private mutating func removeExtended(_ number: InodeNumber, _ model: inout Model) throws {
    let name = "user.\(below(4))"
    last = "removexattr \(model.name) \(name)"
    do {
      try fixture.tree.removexattr(number, Array(name.utf8))
      #expect(model.extended[name] != nil, "\(note)")
      model.extended[name] = nil
    } catch FSError.noData {
      #expect(model.extended[name] == nil, "\(note)")
    }
  }

  private var note: String { "seed \(random.seed), after \(last)" }

  // MARK: - Comparing

  func check() throws {
    for (number, model) in models {
      let status = try fixture.tree.status(of: number)
      #expect(status.mode == model.mode, "\(note)")
      if model.name != "d" { #expect(status.size == model.size, "\(note)") }
      if let mtime = model.mtime { #expect(status.mtime == mtime, "\(note)") }
      if let atime = model.atime { #expect(status.atime == atime, "\(note)") }
      let names = try fixture.tree.listxattr(number).split(separator: 0)
        .map { String(decoding: $0, as: UTF8.self) }
      #expect(names == model.extended.keys.sorted(), "\(note)")
      for (name, value) in model.extended {
        #expect(try fixture.tree.getxattr(number, Array(name.utf8)) == value, "\(note)")
      }
    }
    try fixture.check(note)
  }
}
