import Platform

// Room on the disk. A full disk must not be a trap: names can be removed and a version be made, which gives room
// back. For that the journal file is allotted space ahead, of which the last part is kept for what takes
// something away and for saves, and next to it stands a file, `reserve`, that is given up when nothing else
// helps.

/// The space that a journal file is allotted behind its last record.
struct JournalRoom: Sendable {
  /// The space that is kept ahead, and the step in which more is allotted while there is enough.
  private static let margin: UInt64 = 2 << 20
  private static let step: UInt64 = 8 << 20
  /// The part that only removals and saves may use, and the step of a disk that is nearly full.
  private static let kept: UInt64 = 256 << 10
  private static let smallStep: UInt64 = 64 << 10
  /// A sync of no more than this is one of a small file: an editor's, a database's.
  private static let smallSync: UInt64 = 64 << 10
  /// So many of them promise more.
  private static let syncsForZeros = 4
  private static let zeroStep: UInt64 = 256 << 10

  /// The file has blocks up to here.
  private var allotted: UInt64 = 0
  /// Zeros stand up to here; nowhere where this is less than the file's end.
  private var zeroEnd: UInt64 = 0
  private var smallSyncs = 0

  init() {}

  /// Allots what the image of a new file and some more need; less on a disk that is nearly full.
  ///
  /// - Throws: ENOSPC if not even the image has room.
  init(for file: File, expecting bytes: UInt64, in directory: String) throws(SystemError) {
    do throws(SystemError) {
      try allot(file, from: 0, to: [bytes + Self.step, bytes + Self.smallStep + Self.kept])
    } catch {
      guard error.isNoSpace else { throw error }
      _ = Reserve.giveUp(in: directory)
      try allot(file, from: 0, to: [bytes + Self.smallStep + Self.kept, bytes + Self.smallStep])
    }
  }

  /// Makes sure that there is room for records up to an offset.
  ///
  /// - Throws: ENOSPC or EDQUOT if there is none.
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

  /// Allots the part for removals and saves behind an offset, or what the disk has of it.
  mutating func keep(_ end: UInt64, of file: File) {
    let parts = [Self.kept, Self.kept / 2, Self.kept / 4]
    try? allot(file, from: max(end, allotted), to: parts.map { end + $0 })
  }

  /// Allots space up to the first of some ends that there is room for.
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

  /// The file was cut off: what was allotted behind is gone.
  mutating func cutOff(at end: UInt64) { (allotted, zeroEnd) = (end, end) }

  /// Writes zeros ahead of records that are synced one by one: a sync of records that take their place changes
  /// neither the file's size nor which of its blocks are written, and takes about half the time.
  ///
  /// Nothing depends on it.
  mutating func synced(_ count: UInt64, end: UInt64, of file: File) {
    guard count <= Self.smallSync else { return }
    smallSyncs += 1
    guard smallSyncs >= Self.syncsForZeros, zeroEnd != .max, end + Self.smallSync / 2 > zeroEnd
    else { return }
    let (from, to) = (max(end, zeroEnd), min(end + Self.zeroStep, allotted))
    guard to > from + Self.smallSync / 2 else { return }
    // If that fails, this file does without.
    zeroEnd = file.makeRoom(from: from, to: to, isAllotted: true) ? to : .max
  }
}

/// Space on the disk that is given back when a removal or a save finds none.
enum Reserve {
  private static let size: UInt64 = 4 << 20
  private static func path(_ directory: String) -> String { "\(directory)/reserve" }

  /// Puts space aside where there is plenty; without it the journal does without.
  static func make(in directory: String) {
    guard let disk = try? FileSystem.fileSystem(of: directory),
      disk.availableBytes >= 4 * size, (try? FileSystem.exists(path(directory))) == false
    else { return }
    do throws(SystemError) {
      let file = try File.kept(path(directory), [.readWrite, .create, .exclusive])
      try file.allocate(0..<size, keepingSize: true)
    } catch { try? FileSystem.unlink(path(directory)) }
  }

  /// Gives the space back; false where none was put aside.
  static func giveUp(in directory: String) -> Bool {
    (try? FileSystem.unlink(path(directory))) != nil
  }
}

extension SystemError {
  /// True if the disk is full, or the user's part of it.
  var isNoSpace: Bool { errno == Errno.noSpace || errno == Errno.quota }
}
