import Platform

// On a full disk, names can still be removed and versions made, which frees space: the journal file has room ahead,
// whose last part is for removals and saves, and the file `reserve` is removed as a last resort.

/// The room behind a journal file's last record.
struct JournalRoom: Sendable {
  /// The room that is kept ahead, and the step in which more is allotted.
  private static let margin: UInt64 = 2 << 20
  private static let step: UInt64 = 8 << 20
  /// The part for removals and saves, and the step on a disk that is nearly full.
  private static let kept: UInt64 = 256 << 10
  private static let smallStep: UInt64 = 64 << 10
  /// The largest sync of a small file, such as an editor's or a database's.
  private static let smallSync: UInt64 = 64 << 10
  /// The number of small syncs after which more are expected.
  private static let syncsForZeros = 4
  private static let zeroStep: UInt64 = 256 << 10
  /// The end of the allotted blocks.
  private var allotted: UInt64 = 0
  /// The end of the zeros; `.max` if writing them failed.
  private var zeroEnd: UInt64 = 0
  private var smallSyncs = 0
  init() {}

  /// Allots room for the image of a new file and some more; throws ENOSPC if the image has none.
  init(for file: File, expecting bytes: UInt64, in directory: String) throws(SystemError) {
    do throws(SystemError) {
      try allot(file, from: 0, to: [bytes + Self.step, bytes + Self.smallStep + Self.kept])
    } catch {
      guard error.isNoSpace else { throw error }
      _ = Reserve.giveUp(in: directory)
      try allot(file, from: 0, to: [bytes + Self.smallStep + Self.kept, bytes + Self.smallStep])
    }
  }

  /// Reserves room for records up to an offset; throws ENOSPC or EDQUOT.
  mutating func reserve(
    _ end: UInt64, of file: File, isFreeing: Bool, in directory: String
  ) throws(SystemError) {
    guard end + Self.margin > allotted else { return }
    let kept = isFreeing ? 0 : Self.kept
    do throws(SystemError) {
      try allot(
        file, from: allotted, to: [end + Self.margin + Self.step, end + kept + Self.smallStep])
    } catch {
      guard error.isNoSpace else { throw error }
      if end + kept <= allotted { return }
      guard isFreeing else { throw error }
      _ = Reserve.giveUp(in: directory)
      try allot(file, from: allotted, to: [end + Self.smallStep, end])
    }
  }

  /// Allots the part for removals and saves, or what the disk has.
  mutating func keep(_ end: UInt64, of file: File) {
    let parts = [Self.kept, Self.kept / 2, Self.kept / 4]
    try? allot(file, from: max(end, allotted), to: parts.map { end + $0 })
  }

  /// Allots space up to the first of `ends` for which the disk has room.
  private mutating func allot(_ file: File, from: UInt64, to ends: [UInt64]) throws(SystemError) {
    var failure: SystemError?
    for end in ends where end > from {
      do throws(SystemError) {
        try file.allocate(from..<end, keepingSize: true)
        allotted = end
        return
      } catch {
        // A file system without fallocate(2) reports a full disk at the write instead.
        if error.errno == Errno.notSupported { return allotted = end }
        guard error.isNoSpace else { throw error }
        failure = error
      }
    }
    if let failure { throw failure }
  }

  /// Notes that the file was truncated.
  mutating func cutOff(at end: UInt64) { (allotted, zeroEnd) = (end, end) }

  /// Writes zeros ahead of records that are synced one by one: syncing a record over zeros changes neither size nor
  /// blocks, and takes about half the time. Nothing depends on the zeros.
  mutating func synced(_ count: UInt64, end: UInt64, of file: File) {
    guard count <= Self.smallSync else { return }
    smallSyncs += 1
    guard smallSyncs >= Self.syncsForZeros, zeroEnd != .max, end + Self.smallSync / 2 > zeroEnd
    else { return }
    let (from, to) = (max(end, zeroEnd), min(end + Self.zeroStep, allotted))
    guard to > from + Self.smallSync / 2 else { return }
    zeroEnd = file.makeRoom(from: from, to: to, isAllotted: true) ? to : .max
  }
}

/// Space that is freed when a removal or a save finds none.
enum Reserve {
  private static let size: UInt64 = 4 << 20
  private static func path(_ directory: String) -> String { "\(directory)/reserve" }

  /// Allocates the reserve if the disk has plenty of space; errors are ignored.
  static func make(in directory: String) {
    guard let disk = try? FileSystem.fileSystem(of: directory),
      disk.availableBytes >= 4 * size, (try? FileSystem.exists(path(directory))) == false
    else { return }
    do throws(SystemError) {
      let file = try File.kept(path(directory), [.readWrite, .create, .exclusive])
      try file.allocate(0..<size, keepingSize: true)
    } catch { try? FileSystem.unlink(path(directory)) }
  }

  /// Frees the reserve; false without one.
  static func giveUp(in directory: String) -> Bool {
    (try? FileSystem.unlink(path(directory))) != nil
  }
}

extension SystemError {
  /// True if the disk or the user's quota is full.
  var isNoSpace: Bool { errno == Errno.noSpace || errno == Errno.quota }
}
