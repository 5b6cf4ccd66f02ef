import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// What plain arrays say of files, beside a working tree that is given the same calls at random.
struct FileLife {
  /// A file as an array of bytes.
  struct Model {
    var name: String?
    var bytes: [UInt8] = []
    /// True where bytes are stored, false in holes.
    var isData: [Bool] = []
    var saved: [UInt8]?
    var isUnsaved = false
    var isMapped = false
  }

  /// A handle as the rules of saving see it.
  struct Handle {
    var number: InodeNumber
    var handle: HandleNumber
    var mode: OpenMode
    var wroteSinceFlush = false
    var wrote = false
    var flushes = 0
  }

  /// Offsets and sizes up to here, so that calls meet.
  static let reach = 70_000

  let fixture: FileFixture
  let kind: JournalKind
  var random: SeededRandom
  var models: [InodeNumber: Model] = [:]
  var handles: [Handle] = []
  var log: [String] = []
  private var made = 0

  init(seed: UInt64, over kind: JournalKind) throws {
    self.kind = kind
    random = SeededRandom(seed: seed)
    var files: [String: [UInt8]] = [:]
    for name in ["r", "s", "t"] { files[name] = random.bytes(Int(random.next() % 3000)) }
    fixture = try FileFixture(files, over: kind)
    for (name, bytes) in files {
      let data = [Bool](repeating: true, count: bytes.count)
      models[try fixture.number(name)] = Model(name: name, bytes: bytes, isData: data)
    }
  }

  private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  /// Small numbers more often than great ones.
  private mutating func offset() -> Int { below(1 + below(Self.reach)) }

  // MARK: - Calls

  mutating func act() throws {
    let number = models.keys.sorted()[below(models.count)]
    let index = handles.isEmpty ? nil : below(handles.count)
    switch (below(100), index) {
    case (..<14, _): try open(number)
    case (14..<18, _): try create()
    case (18..<22, _): try resize(number)
    case (22..<24, _): try remove(number)
    case (24..<52, let index?): try write(index)
    case (52..<60, let index?): try resizeThroughHandle(index)
    case (60..<70, let index?): try allocate(index)
    case (70..<82, let index?): try flush(index)
    case (82..<92, let index?): try release(index)
    case (92..<96, let index?): try fsync(index)
    default: try savePaused()
    }
  }

  private mutating func mode() -> OpenMode {
    [[.read], [.write], [.read, .write], [.write, .append]][below(4)]
  }

  private mutating func open(_ number: InodeNumber) throws {
    guard let name = models[number]?.name else { return }
    var mode = mode()
    if below(4) == 0 { mode.insert(.truncate) }
    log.append("open \(name) \(mode.rawValue)")
    let opened = try fixture.tree.open(number, mode: mode)
    if mode.contains(.truncate) {
      change(number) { $0.resize(to: 0) }
      if !mode.contains(.write) {
        savedByPath(number)
        mode.remove(.truncate)
      }
    }
    handles.append(Handle(number: number, handle: opened.handle, mode: mode))
  }

  private mutating func create() throws {
    made += 1
    let (name, mode) = ("n\(made)", mode().union(.created))
    log.append("create \(name) \(mode.rawValue)")
    let (number, handle) = try fixture.create(name, mode)
    models[number] = Model(name: name, isUnsaved: true)
    handles.append(Handle(number: number, handle: handle, mode: mode))
  }

  private mutating func write(_ index: Int) throws {
    guard handles[index].mode.contains(.write) else { return }
    let handle = handles[index]
    let size = models[handle.number]?.bytes.count ?? 0
    let start = handle.mode.contains(.append) ? size : offset()
    let bytes = random.bytes(1 + (below(12) == 0 ? below(Self.reach) : below(300)))
    let mapped = below(10) == 0
    log.append("write \(name(handle)) \(start) \(bytes.count)\(mapped ? " mapped" : "")")
    try fixture.write(handle.handle, bytes, at: UInt64(start), mapped: mapped)
    change(handle.number) {
      $0.write(bytes, at: start)
      $0.isMapped = $0.isMapped || mapped
    }
    wrote(index)
  }

  private mutating func resizeThroughHandle(_ index: Int) throws {
    guard handles[index].mode.contains(.write) else { return }
    let (handle, size) = (handles[index], offset())
    log.append("ftruncate \(name(handle)) \(size)")
    try fixture.tree.resize(handle.number, to: UInt64(size), through: handle.handle)
    change(handle.number) { $0.resize(to: size) }
    wrote(index)
  }

  private mutating func resize(_ number: InodeNumber) throws {
    let size = offset()
    log.append("truncate \(models[number]?.name ?? "?") \(size)")
    let wasUnsaved = models[number]?.isUnsaved ?? false
    try fixture.tree.resize(number, to: UInt64(size))
    change(number) { $0.resize(to: size) }
    if !wasUnsaved { save(number) }
  }

  private mutating func savedByPath(_ number: InodeNumber) {
    // The open found nobody's unsaved bytes, unless they were there before it.
    if unsavedBefore.contains(number) { return }
    save(number)
  }

  private mutating func allocate(_ index: Int) throws {
    guard handles[index].mode.contains(.write) else { return }
    let (handle, start, keeps, zeroes) = (handles[index], offset(), below(2) == 0, below(2) == 0)
    let end = start + 1 + below(20_000)
    log.append("fallocate \(name(handle)) \(start)..<\(end) keeps \(keeps) zeroes \(zeroes)")
    try fixture.tree.allocate(
      handle.handle, range: UInt64(start)..<UInt64(end), zeroing: zeroes, keepingSize: keeps,
      room: below(2) == 0 ? 1 << 30 : nil)
    change(handle.number) { model in
      if zeroes { model.punch(start..<end) }
      if !keeps, end > model.bytes.count { model.resize(to: end) }
    }
    wrote(index)
  }

  private mutating func flush(_ index: Int) throws {
    let handle = handles[index]
    log.append("flush \(name(handle))")
    try fixture.tree.flush(handle.handle)
    guard handle.mode.contains(.write) else { return }
    handles[index].flushes += 1
    handles[index].wroteSinceFlush = false
    let isMapped = models[handle.number]?.isMapped ?? false
    if handle.wroteSinceFlush || isMapped || handle.flushes >= 1 && isEmptied(handle) {
      save(handle.number)
    }
  }

  private mutating func release(_ index: Int) throws {
    let handle = handles.remove(at: index)
    log.append("release \(name(handle))")
    try fixture.tree.release(handle.handle)
    let isMapped = models[handle.number]?.isMapped ?? false
    let others = handles.contains { $0.number == handle.number && $0.mode.contains(.write) }
    if handle.mode.contains(.write), handle.wroteSinceFlush || isMapped || !others {
      save(handle.number)
    }
    dropIfUnused(handle.number)
  }

  private mutating func fsync(_ index: Int) throws {
    log.append("fsync \(name(handles[index]))")
    try fixture.tree.fsync(handles[index].handle)
    handles[index].wroteSinceFlush = false
    save(handles[index].number)
  }

  private mutating func remove(_ number: InodeNumber) throws {
    guard models.count > 2, let name = models[number]?.name else { return }
    log.append("unlink \(name)")
    try fixture.unlink(name)
    models[number]?.name = nil
    fixture.tree.forget(number, count: 1)
    dropIfUnused(number)
  }

  private mutating func savePaused() throws {
    log.append("two minutes pass")
    var now = Attributes.Time.now
    now.seconds += 120
    try fixture.tree.savePaused(at: now, settle: 2_000_000_000)
    for (number, model) in models where model.name != nil { save(number) }
  }

  // MARK: - The model

  private func name(_ handle: Handle) -> String {
    "\(models[handle.number]?.name ?? "#\(handle.number.rawValue)")/\(handle.handle.rawValue)"
  }

  private func isEmptied(_ handle: Handle) -> Bool {
    !handle.wrote && !handle.mode.isDisjoint(with: [.created, .truncate])
      && models[handle.number]?.bytes.isEmpty ?? false
  }

  private mutating func wrote(_ index: Int) {
    handles[index].wrote = true
    handles[index].wroteSinceFlush = true
  }

  private var unsavedBefore: Set<InodeNumber> = []

  private mutating func change(_ number: InodeNumber, _ body: (inout Model) -> Void) {
    guard var model = models[number] else { return }
    if model.isUnsaved { unsavedBefore.insert(number) } else { unsavedBefore.remove(number) }
    body(&model)
    model.isUnsaved = true
    models[number] = model
  }

  private mutating func save(_ number: InodeNumber) {
    guard let model = models[number], model.isUnsaved else { return }
    models[number]?.saved = model.bytes
    models[number]?.isUnsaved = false
    models[number]?.isMapped = false
  }

  private mutating func dropIfUnused(_ number: InodeNumber) {
    guard models[number]?.name == nil, !handles.contains(where: { $0.number == number }) else {
      return
    }
    models[number] = nil
  }

  // MARK: - Comparing

  mutating func check() throws {
    let note = "seed \(random.seed), after \(log.last ?? "")"
    for (number, model) in models.sorted(by: { $0.key < $1.key }) {
      let bytes = try fixture.read(number)
      #expect(bytes == model.bytes, "\(model.name ?? "?") \(note)")
      #expect(try fixture.tree.status(of: number).size == UInt64(model.bytes.count), "\(note)")
      let file = fixture.overlay.nodes[number]?.file
      #expect(file?.isUnsaved ?? false == model.isUnsaved, "\(model.name ?? "?") \(note)")
      #expect(try fixture.saved(number) == model.saved, "\(model.name ?? "?") \(note)")
      try seek(number, model, note)
    }
    try fixture.check(note)
  }

  private mutating func seek(_ number: InodeNumber, _ model: Model, _ note: String) throws {
    guard !model.bytes.isEmpty else { return }
    let start = below(model.bytes.count)
    for toData in [true, false] {
      let expected =
        model.isData[start...].firstIndex(of: toData) ?? (toData ? nil : model.bytes.count)
      let found = try fixture.tree.seek(number, from: UInt64(start), toData: toData).offset
      #expect(found == expected.map { UInt64($0) }, "\(model.name ?? "?") \(start) \(note)")
    }
  }
}

extension FileLife.Model {
  mutating func resize(to size: Int) {
    if size < bytes.count {
      bytes.removeLast(bytes.count - size)
      isData.removeLast(isData.count - size)
    } else {
      isData += [Bool](repeating: false, count: size - bytes.count)
      bytes += [UInt8](repeating: 0, count: size - bytes.count)
    }
  }

  mutating func write(_ new: [UInt8], at start: Int) {
    if start + new.count > bytes.count { resize(to: start + new.count) }
    bytes.replaceSubrange(start..<start + new.count, with: new)
    isData.replaceSubrange(
      start..<start + new.count, with: [Bool](repeating: true, count: new.count))
  }

  mutating func punch(_ range: Range<Int>) {
    for index in range.clamped(to: 0..<bytes.count) { (bytes[index], isData[index]) = (0, false) }
  }
}
