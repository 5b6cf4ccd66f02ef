import Inodes
import LLVSCore
import Platform
import WorkingTree

/// The row of the pending tree: what programs changed, in memory and in its journal.
enum PendingRows {
  static func pending(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(100_000, 1_000_000)
    let sample = try PendingSample(context, count)
    var figures = try sample.applying()
    figures += [try sample.freezing()]
    return try figures + sample.opening() + [sample.appending()]
  }
}

/// New files, a thousand in each directory, as a program makes them: each is created, written and closed.
private final class PendingSample {
  private static let perDirectory = 1000
  private static let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 5)
  /// A data file that is not there: no bytes are read.
  private static let source: UInt32 = 1 << 30
  private static let owner = JournalOwner(storeID: [1], bootID: [1])

  let context: BenchContext
  let count: Int
  let directory: String

  init(_ context: BenchContext, _ count: Int) throws {
    (self.context, self.count) = (context, count)
    directory = try context.place.directory("journal")
  }

  // MARK: - Changes

  private func change(_ operation: Change.Operation) -> Change {
    Change(time: Self.time, process: 77, operation)
  }

  private func directoryNumber(_ index: Int) -> InodeNumber { InodeNumber(UInt64(10 + index)) }

  private func directories() -> [Change] {
    (0..<(count / Self.perDirectory + 1)).map { index in
      change(
        .create(
          directoryNumber(index),
          at: InodeName(directory: .root, name: FileName("directory-\(index)".utf8)),
          kind: .directory, attributes: Attributes(mode: 0o755), content: FileContent(),
          isSaved: true, seen: nil))
    }
  }

  /// The change that makes a file, and the one that saves it; the bytes are where `extents` say.
  private func file(_ index: Int, _ extents: [Extent]? = nil) -> [Change] {
    let number = InodeNumber(UInt64(1 << 32 + index))
    let name = FileName("file-\(index).object".utf8)
    var content = FileContent()
    let plain = Extent(start: 0, length: 400, offset: UInt64(index) * 400, source: Self.source)
    for extent in extents ?? [plain] { content.write(extent) }
    return [
      change(
        .create(
          number,
          at: InodeName(directory: directoryNumber(index / Self.perDirectory), name: name),
          kind: .regular, attributes: Attributes(mode: 0o644), content: content, isSaved: false,
          seen: nil)),
      change(.save(number)),
    ]
  }

  /// An overlay of which all files are pending.
  private func overlay() -> Overlay {
    var overlay = Overlay()
    for change in directories() { overlay.apply(change) }
    for index in 0..<count { for change in file(index) { overlay.apply(change) } }
    return overlay
  }

  // MARK: - Memory

  func applying() throws -> [BenchFigure] {
    let changes = (0..<(count / 10)).flatMap { file($0) }
    var last = Overlay()
    let times = (0..<3).map { _ in
      last = Overlay()
      for change in directories() { last.apply(change) }
      return BenchTimer.seconds { for change in changes { last.apply(change) } }
    }
    guard last.changes.count >= count / 10 else { throw BenchError.failed("names are missing") }
    return [
      BenchFigure(
        work: "apply a change", ours: BenchTimer.median(times) / Double(changes.count),
        goal: .within(atMost: 3e-6, aim: 1.5e-6))
    ]
  }

  /// The instant of a cut: a copy, and the first change after it.
  func freezing() throws -> BenchFigure {
    var overlay = overlay()
    var random = BenchRandom(3)
    let times = (0..<51).map { _ in
      let number = InodeNumber(UInt64(1 << 32) + random.next() % UInt64(count))
      var frozen = overlay
      let seconds = BenchTimer.seconds {
        _ = overlay.beginCut()
        frozen = overlay
        overlay.apply(change(.save(number)))
        overlay.apply(change(.resize(number, to: 5, [], seen: nil)))
      }
      withExtendedLifetime(frozen) {}
      return seconds
    }
    return BenchFigure(
      work: "the instant of a cut with \(count) pending files", ours: BenchTimer.median(times),
      goal: .within(atMost: 1e-3, aim: 0.2e-3),
      note: "the longest of \(times.count): \((times.max() ?? 0) * 1e3) ms")
  }

  // MARK: - The journal

  private func open() throws -> OpenedJournal {
    try Journal.open(directory, owner: Self.owner, lastCut: 0) { _ in }
  }

  private func renew(_ journal: Journal, _ overlay: Overlay) throws {
    _ = try journal.renew(
      isForced: true,
      { JournalImage(overlay: overlay, epochs: [:], instant: journal.instant) }, adopt: { _ in })
  }

  private func timeToOpen() throws -> (seconds: Double, opened: OpenedJournal) {
    var found: OpenedJournal?
    let seconds = try BenchTimer.seconds { found = try open() }
    guard let found, found.overlay.changes.count >= count else {
      throw BenchError.failed("names are missing")
    }
    return (seconds, found)
  }

  func opening() throws -> [BenchFigure] {
    do {
      let journal = try open().journal
      try renew(journal, Overlay())
      try journal.append(directories(), mayUseReserve: false)
      // A file whose bytes are not there would not be pending after the mount.
      let bytes = [UInt8](repeating: 9, count: 400)
      for index in 0..<count {
        let extent = try bytes.withUnsafeBytes { raw in
          Result { () throws(StoreError) in try journal.stage(raw, at: 0) }
        }.get()
        for change in file(index, [extent]) { try journal.append([change], mayUseReserve: false) }
      }
    }
    let (operations, opened) = try timeToOpen()
    try renew(opened.journal, opened.overlay)
    let (image, _) = try timeToOpen()
    let goal = BenchGoal.within(atMost: 3e-6, aim: 2e-6)
    return [
      BenchFigure(
        work: "open a journal with \(count) new files that were created and saved, a file",
        ours: operations / Double(count), goal: goal),
      BenchFigure(
        work: "open one that was begun anew with them, a file", ours: image / Double(count),
        goal: goal),
    ]
  }

  /// Appending one change, next to one pwrite of as many bytes.
  func appending() throws -> BenchFigure {
    let journal = try open().journal
    try renew(journal, Overlay())
    let changes = (0..<20_000).map { file($0)[0] }
    let size = 184
    let plain = try File.kept(
      try context.place.directory("plain") + "/file", [.readWrite, .create, .truncate])
    let bytes = [UInt8](repeating: 7, count: size)
    var end: UInt64 = 0
    let times = try BenchTimer.race(rounds: 7, 2) { runner, _ in
      if runner == 1 { try plain.allocate(end..<(end + 8 << 20), keepingSize: true) }
      return try BenchTimer.seconds {
        if runner == 0 {
          for change in changes { try journal.append([change], mayUseReserve: false) }
        } else {
          for _ in changes {
            try plain.write(bytes, at: end)
            end += UInt64(size)
          }
        }
      } / Double(changes.count)
    }
    return BenchFigure(
      work: "append a change to the journal", times, reference: 1,
      against: "pwrite of \(size) bytes", goal: .times(atMost: 2.5, aim: 1.7))
  }
}
