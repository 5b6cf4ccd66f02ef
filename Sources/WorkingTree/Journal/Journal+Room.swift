import LLVSCore
import Platform
import TreeNames

// Room on the disk. A full disk must not be a trap: names can be removed and a version be made, which gives
// room back. For that the journal is allotted space ahead, of which the last part is kept for what takes
// names away and for saves, and beside it stands a file, `reserve`, that is given up when nothing else helps.

extension Journal {
  /// What is kept ahead, and in what steps more is allotted while there is enough.
  private static let margin: UInt64 = 2 << 20
  private static let step: UInt64 = 8 << 20
  /// What only removals and saves may use, and the steps of a disk that is nearly full.
  private static let kept: UInt64 = 256 << 10
  private static let smallStep: UInt64 = 64 << 10
  private static let reserveSize: UInt64 = 4 << 20
  private static let reserveName = "reserve"

  /// Makes sure that the disk has room for a record of `bytes`, before anything changes, and that it has taken
  /// what is recorded.
  ///
  /// - Parameters:
  ///   - bytes: the record's size.
  ///   - isRemoval: it takes a name or bytes away, and so may use what is kept back.
  /// - Throws: ``FSError/system(_:)`` where there is none.
  func reserve(_ bytes: Int, isRemoval: Bool = false) throws(FSError) {
    enum Plan {
      case nothing
      case resume
      case recover
      case rewrite(Position)
      case allocate(File, from: UInt64, end: UInt64, kept: UInt64)
    }
    let plan: Plan = state.withLock { s in
      if s.failure != nil { return .recover }
      if s.unbegun != nil { return .resume }
      if s.isRefused { return .rewrite(s.appended) }
      let end = s.fileEnd + UInt64(s.buffer.count) + UInt64(bytes)
      // Mounts give this back to find room for their generations there: the first one's is not the last.
      let kept = Self.kept + min(2 * s.metaBytes, Self.step)
      guard end + max(Self.margin, kept) > s.allocated else { return .nothing }
      return .allocate(s.file, from: s.allocated, end: end, kept: kept)
    }
    if case .recover = plan {
      try recover()
      return try reserve(bytes, isRemoval: isRemoval)
    }
    if case .resume = plan {
      try resume()
      return try reserve(bytes, isRemoval: isRemoval)
    }
    if case .rewrite(let position) = plan {
      try commit(through: position)
      // Also where a new generation, which holds all of it, has begun meanwhile.
      state.withLock { $0.isRefused = false }
      return try reserve(bytes, isRemoval: isRemoval)
    }
    guard case .allocate(let file, let from, let end, let wanted) = plan else { return }
    let kept = isRemoval ? 0 : wanted
    try FSError.wrapping { () throws(SystemError) in
      let to: UInt64
      do throws(SystemError) {
        to = try allocate(
          file, from: from,
          to: [end + max(Self.margin, wanted) + Self.step, end + kept + Self.smallStep])
      } catch {
        guard error.isNoSpace else { throw error }
        if end + kept <= from { return }
        guard isRemoval, giveUpReserve() else { throw error }
        to = try allocate(file, from: from, to: [end + Self.smallStep])
      }
      state.withLock { s in if s.file === file { s.allocated = max(s.allocated, to) } }
    }
  }

  /// Allots space up to the first of some ends that there is room for.
  private func allocate(
    _ file: File, from: UInt64, to ends: [UInt64]
  ) throws(SystemError) -> UInt64 {
    var failure: SystemError?
    for end in ends where end > from {
      do throws(SystemError) {
        try file.allocate(from..<end, keepingSize: true)
        return end
      } catch {
        // A file system without fallocate(2) reports a full disk at the write instead.
        if error.errno == Errno.notSupported { return end }
        guard error.isNoSpace else { throw error }
        failure = error
      }
    }
    if let failure { throw failure }
    return from
  }

  /// Allots what a generation's first records and some more need; less on a disk that is nearly full, where
  /// it is asked how much that is `exactly`.
  func allocate(
    _ file: File, expecting bytes: Int, exactly: () -> Int
  ) throws(SystemError) -> UInt64 {
    do throws(SystemError) {
      return try allocate(file, from: 0, to: [UInt64(bytes) * 2 + (4 << 20)])
    } catch {
      guard error.isNoSpace else { throw error }
    }
    let count = UInt64(exactly())
    let least = count + Self.smallStep
    // What is kept goes over from the generation before, part of which may have been used.
    let ends = [least + count + Self.kept, least + Self.kept, least + Self.kept / 2, least]
    do throws(SystemError) {
      return try allocate(file, from: 0, to: [ends[0]])
    } catch {
      guard error.isNoSpace else { throw error }
    }
    _ = giveUpReserve()
    return try allocate(file, from: 0, to: ends)
  }

  /// Gives back what was allotted behind the files' ends by a process that is gone: nobody writes there any
  /// more, and a new generation has to find its room beside the old one.
  ///
  /// The files' sizes stay, so that no record can go; call before the first write only.
  func giveUpAllotted() {
    for file in state.withLock({ Array($0.files.values) }) { Self.giveUpAllotted(file) }
  }

  /// Gives back what was allotted behind the end of a file that nobody writes any more.
  static func giveUpAllotted(_ file: File) {
    // What cannot be given back stays until the file goes.
    guard let size = try? file.status().size else { return }
    try? file.truncate(to: size)
  }

  /// Gives back, of a journal that nobody has open, all that holds no record: the reserve, what was allotted
  /// ahead, generations that were not begun.
  ///
  /// - Important: the caller holds the store's lock.
  static func giveUpRoom(in directory: String) {
    _ = giveUpReserve(in: directory)
    guard let status = try? FileSystem.status(directory, following: false),
      status.kind == .directory, let names = try? FileSystem.list(directory)
    else { return }
    for name in names {
      let path = "\(directory)/\(name)"
      if name.hasSuffix(".journal.tmp") {
        try? FileSystem.unlink(path)
      } else if name.hasSuffix(".journal") || name.hasSuffix(".stage") {
        guard let file = try? File.regular(path, .readWrite) else { continue }
        giveUpAllotted(file)
      }
    }
  }

  // MARK: - Zeros

  /// A sync of no more than this is one of a small file: an editor's, a database's.
  static let smallSync: Position = 64 << 10
  /// So many of them promise more.
  private static let syncsForRoom = 4
  private static let zeroStep: UInt64 = 256 << 10

  /// Where zeros are to be written ahead of what is written, if anywhere: a sync of records that take their
  /// place changes neither the file's size nor which of its blocks are written, and takes about half the
  /// time. They take no space but what is allotted.
  static func room(_ s: State) -> Range<UInt64>? {
    guard s.smallSyncs >= syncsForRoom, s.unbegun == nil, s.failure == nil,
      s.appended - s.syncedPosition <= smallSync, s.writtenEnd + smallSync / 2 > s.zeroEnd
    else { return nil }
    let from = max(s.writtenEnd, s.zeroEnd)
    let end = min(s.writtenEnd + zeroStep, s.allocated)
    return end > from + smallSync / 2 ? from..<end : nil
  }

  /// Writes zeros for the one thread that writes, which is this, and lets the next write.
  func makeRoom(_ room: Range<UInt64>, in file: File) {
    let isMade = file.makeRoom(from: room.lowerBound, to: room.upperBound, isAllotted: true)
    state.withLock { s in
      s.isWriting = false
      // Where it failed, this generation does without.
      if s.file === file { s.zeroEnd = isMade ? room.upperBound : .max }
    }
    state.broadcast()
  }

  // MARK: - The reserve

  /// Puts space aside where there is plenty; without it the journal does without.
  func makeReserve() {
    let path = "\(directory)/\(Self.reserveName)"
    guard let disk = try? FileSystem.fileSystem(of: directory),
      disk.availableBytes >= 4 * Self.reserveSize, (try? FileSystem.exists(path)) == false
    else { return }
    do throws(SystemError) {
      let file = try File.kept(path, [.readWrite, .create, .exclusive])
      try file.allocate(0..<Self.reserveSize, keepingSize: true)
    } catch {
      try? FileSystem.unlink(path)
    }
  }

  /// Gives the disk back what was put aside; false where nothing was.
  func giveUpReserve() -> Bool { Self.giveUpReserve(in: directory) }

  static func giveUpReserve(in directory: String) -> Bool {
    do throws(SystemError) {
      try FileSystem.unlink("\(directory)/\(reserveName)")
      return true
    } catch {
      return false
    }
  }
}

extension SystemError {
  /// Whether the disk is full, or the user's part of it.
  var isNoSpace: Bool { errno == Errno.noSpace || errno == Errno.quota }
}
