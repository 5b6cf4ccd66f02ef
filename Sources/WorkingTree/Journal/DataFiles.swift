import Inodes
import LLVSCore
import Platform

/// The data files of a journal: staging files, and journal files for short writes.
///
/// INVARIANT I8: bytes are in a data file before the record that names them; none are ever overwritten.
/// INVARIANT I9: a data file is removed only when no live extent and no unrecorded bytes are in it.
///
/// - Concurrency: any thread; no lock is held while a file is read, written or synced.
final class DataFiles: Sendable {
  private struct Place: Hashable {
    var source: UInt32
    var offset: UInt64
  }

  private struct Entry {
    var file: File
    var name: String
  }

  private struct Unrecorded {
    var sums: [BytesSum] = []
    /// True for bytes in a journal file, which has their checksum itself.
    var isInline = false
  }

  private struct Stage {
    var number: UInt32
    var file: File
    var end: UInt64 = 0
  }

  private struct State {
    var files: [UInt32: Entry] = [:]
    var sums: [UInt32: ByteSums] = [:]
    var stage: Stage?
    /// The files, except the current journal file, with bytes that no sync covers.
    var unsynced: [UInt32: File] = [:]
    /// Bytes that no record names yet.
    var unrecorded: [Place: Unrecorded] = [:]
    /// Files whose sync failed: their content on the disk is unknown.
    var givenUp: Set<UInt32> = []
    var lastNumber: UInt32
  }

  /// The least bytes of a staging file that is left so that its dead bytes can be freed.
  private static let leastLeft: UInt64 = 1 << 20
  static let stageLimit: UInt64 = 256 << 20
  private let directory: String
  private let state: Monitor<State>

  init(directory: String, lastNumber: UInt32) {
    self.directory = directory
    state = Monitor(State(lastNumber: lastNumber))
  }

  static func stageName(_ number: UInt32) -> String { "\(DataFiles.padded(number)).stage" }
  static func stageNumber(_ name: String) -> UInt32? { number(name, ".stage") }

  static func padded(_ number: UInt32) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 10 - digits.count)) + digits
  }

  /// The number in the name of a data file with the suffix; nil for another file.
  static func number(_ name: String, _ suffix: String) -> UInt32? {
    guard name.hasSuffix(suffix), let number = UInt32(name.dropLast(suffix.count)),
      padded(number) + suffix == name
    else { return nil }
    return number
  }

  func nextNumber() -> UInt32 {
    state.withLock { s in
      s.lastNumber += 1
      return s.lastNumber
    }
  }

  /// Adds an existing file. `isSynced` is false if an earlier process may have left its bytes unsynced.
  func add(_ file: File, _ number: UInt32, named name: String, isSynced: Bool) {
    state.withLock { s in
      if !isSynced { s.unsynced[number] = file }
      s.files[number] = Entry(file: file, name: name)
      s.lastNumber = max(s.lastNumber, number)
    }
  }

  func file(_ number: UInt32) -> File? { state.withLock { $0.files[number]?.file } }
  var count: Int { state.withLock { $0.files.count } }

  /// The files to which nothing is added, by number.
  func idle(besides current: UInt32) -> [UInt32: File] {
    state.withLock { s in
      let busy = Self.busy(s).union([current])
      return s.files.filter { !busy.contains($0.key) }.mapValues(\.file)
    }
  }

  /// Makes later bytes go to another staging file, unless some bytes in this one are unrecorded.
  func leaveStage() {
    state.withLock { s in
      guard let stage = s.stage, stage.end >= Self.leastLeft,
        !s.unrecorded.keys.contains(where: { $0.source == stage.number })
      else { return }
      if !s.givenUp.contains(stage.number) { s.unsynced[stage.number] = stage.file }
      s.stage = nil
    }
  }

  /// The files with unrecorded bytes, and the staging file.
  private static func busy(_ s: State) -> Set<UInt32> {
    var busy = Set(s.unrecorded.keys.map(\.source))
    if let stage = s.stage { busy.insert(stage.number) }
    return busy
  }

  /// Removes those `candidates`, idle before `live` was found, to which nothing in `live` refers.
  func remove(_ candidates: Set<UInt32>, besides live: Set<UInt32>) {
    let dead = candidates.subtracting(live)
    guard !dead.isEmpty else { return }
    let gone = state.withLock { s in
      dead.compactMap { number -> String? in
        s.sums[number] = nil
        s.unsynced[number] = nil
        s.givenUp.remove(number)
        return s.files.removeValue(forKey: number)?.name
      }
    }
    // A file that cannot be removed now is removed at the next mount.
    for name in gone { try? FileSystem.unlink("\(directory)/\(name)") }
  }

  /// Writes bytes, which no record names yet, to a staging file.
  func stage(
    _ bytes: UnsafeRawBufferPointer
  ) throws(SystemError) -> (source: UInt32, offset: UInt64) {
    let stage = try reserve(UInt64(bytes.count))
    let sums = BytesSum.of(bytes, at: stage.end)
    do throws(SystemError) {
      try stage.file.write(bytes, at: stage.end)
    } catch {
      state.withLock { $0.unrecorded[Place(source: stage.number, offset: stage.end)] = nil }
      throw error
    }
    state.withLock { s in
      s.unrecorded[Place(source: stage.number, offset: stage.end)] = Unrecorded(sums: sums)
      note(sums, stage.number, &s)
      // After the write: a sync that runs concurrently does not cover these bytes.
      if !s.givenUp.contains(stage.number) { s.unsynced[stage.number] = stage.file }
    }
    return (stage.number, stage.end)
  }

  func stage(_ bytes: [UInt8]) throws(SystemError) -> (source: UInt32, offset: UInt64) {
    let staged = bytes.withUnsafeBytes { raw in
      Result { () throws(SystemError) in try stage(raw) }
    }
    return try staged.get()
  }

  /// Reserves a place in a staging file, which is kept for the bytes.
  private func reserve(_ count: UInt64) throws(SystemError) -> Stage {
    while true {
      let found = state.withLock { s -> Stage? in
        guard let stage = s.stage, stage.end < Self.stageLimit else { return nil }
        s.stage?.end += count
        s.unrecorded[Place(source: stage.number, offset: stage.end)] = Unrecorded()
        return stage
      }
      if let found { return found }
      let number = nextNumber()
      let file = try File.kept(
        "\(directory)/\(Self.stageName(number))", [.readWrite, .create, .exclusive])
      do throws(SystemError) {
        // The name must last as long as the bytes: one sync for many writes.
        try FileSystem.syncDirectory(directory)
      } catch {
        try? FileSystem.unlink(file.path)
        throw error
      }
      state.withLock { s in
        s.files[number] = Entry(file: file, name: Self.stageName(number))
        s.stage = Stage(number: number, file: file)
      }
    }
  }

  /// Adds no more bytes to the staging file.
  func giveUpStage() { state.withLock { $0.stage = nil } }

  /// Notes bytes in a journal file that no record names yet.
  func staged(_ sum: BytesSum, in source: UInt32) {
    state.withLock { s in
      s.unrecorded[Place(source: source, offset: sum.offset)] = Unrecorded(
        sums: [sum], isInline: true)
      note([sum], source, &s)
    }
  }

  /// Returns the checksums to write before the record of extents, by source; throws EIO if a file was given up.
  func unrecordedSums(of extents: [Extent]) throws(SystemError) -> [UInt32: [BytesSum]] {
    try state.withLock { s throws(SystemError) in
      var found: [UInt32: [BytesSum]] = [:]
      for extent in extents {
        let place = Place(source: extent.source, offset: extent.offset)
        guard let bytes = s.unrecorded[place] else { continue }
        if s.givenUp.contains(extent.source) {
          throw SystemError(
            errno: Errno.inputOutput, call: "fdatasync", subject: s.files[extent.source]?.name ?? ""
          )
        }
        if !bytes.isInline { found[extent.source, default: []] += bytes.sums }
      }
      return found
    }
  }

  /// The checksums of unrecorded bytes in journal files, by file, which the next journal file repeats.
  var unrecordedInJournals: [(source: UInt32, sums: [BytesSum])] {
    state.withLock { s in
      var found: [UInt32: [BytesSum]] = [:]
      for (place, bytes) in s.unrecorded where bytes.isInline {
        found[place.source, default: []] += bytes.sums
      }
      return found.sorted { $0.key < $1.key }.map { source, sums in
        (source, sums.sorted { $0.offset < $1.offset })
      }
    }
  }

  /// Notes that bytes are in a record, or never will be.
  func recorded(_ extents: [Extent]) {
    state.withLock { s in
      for extent in extents {
        s.unrecorded[Place(source: extent.source, offset: extent.offset)] = nil
      }
    }
  }

  /// The journal may name bytes of a file that is gone: its number is not given again.
  private func note(_ sums: [BytesSum], _ source: UInt32, _ s: inout State) {
    s.lastNumber = max(s.lastNumber, source)
    for sum in sums { s.sums[source, default: ByteSums()].add(sum) }
  }

  func note(_ sums: [BytesSum], in source: UInt32) { state.withLock { note(sums, source, &$0) } }

  /// Returns the known checksums of ascending ranges of a file, and the parts without one.
  func knownSums(
    of source: UInt32, in ranges: [Range<UInt64>]
  ) -> (sums: [BytesSum], missing: [Range<UInt64>]) {
    state.withLock { $0.sums[source]?.overlapping(anyOf: ranges) ?? ([], ranges) }
  }

  func isWhole(_ sum: BytesSum, in source: UInt32) -> Bool { bytes(of: sum, in: source) != nil }

  /// Returns the bytes of a run; nil if they are damaged.
  func bytes(of sum: BytesSum, in source: UInt32) -> [UInt8]? {
    guard let bytes = try? file(source)?.read(Int(sum.length), at: sum.offset),
      bytes.count == Int(sum.length), Checksum.of(bytes) == sum.sum
    else { return nil }
    return bytes
  }

  /// Returns the files with bytes that no sync covers, except the current journal file, and counts them as synced.
  func takeUnsynced() -> [UInt32: File] {
    state.withLock { s in
      defer { s.unsynced = [:] }
      return s.unsynced
    }
  }

  /// Asks the system to begin to write bytes that no sync covers.
  func startWriteback() {
    for file in state.withLock({ $0.unsynced.values }) { file.startWriteback(0..<Self.stageLimit) }
  }

  /// Notes that a file has more bytes, which no sync covers.
  func noteUnsynced(_ number: UInt32) {
    state.withLock { s in
      guard let entry = s.files[number], !s.givenUp.contains(number) else { return }
      s.unsynced[number] = entry.file
    }
  }

  /// Abandons files whose content on the disk is unknown: they are not written or synced again.
  func giveUp(_ numbers: Set<UInt32>) {
    state.withLock { s in
      s.givenUp.formUnion(numbers)
      for number in numbers { s.unsynced[number] = nil }
      if let stage = s.stage, numbers.contains(stage.number) { s.stage = nil }
    }
  }

  var givenUp: Set<UInt32> { state.withLock { $0.givenUp } }
}
