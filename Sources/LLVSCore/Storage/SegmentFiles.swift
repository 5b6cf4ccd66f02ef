internal import Platform
internal import Synchronization

/// The open descriptors of segments. Their number is bounded, because a store may have thousands.
final class SegmentFiles: Sendable {
  private struct Slot {
    var file: SegmentFile
    var used: UInt64
  }

  private struct State {
    var slots: [UInt32: Slot] = [:]
    var clock: UInt64 = 0
  }

  let directory: String
  let store: [UInt8]
  private static let bound = 128
  // A leaf lock; held for look-ups only, never during a system call.
  private let state = Mutex(State())

  init(directory: String, store: [UInt8]) {
    self.directory = directory
    self.store = store
  }

  func path(_ segment: UInt32) -> String { "\(directory)/\(SegmentFormat.name(of: segment))" }

  /// Follows the name of a segment in the name of a file that will replace it.
  static let partSuffix = ".part"

  /// Removes what an interrupted process was writing.
  func removeParts() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      for name in try FileSystem.list(directory) where name.hasSuffix(Self.partSuffix) {
        try FileSystem.unlink("\(directory)/\(name)")
      }
    }
  }

  /// Returns the segment's file; opens it and checks its header if necessary.
  func file(_ segment: UInt32) throws(StoreError) -> SegmentFile {
    let known = state.withLock { state -> SegmentFile? in
      state.clock += 1
      state.slots[segment]?.used = state.clock
      return state.slots[segment]?.file
    }
    if let known { return known }
    let opened = try open(segment, .read)
    insert(opened, for: segment)
    return opened
  }

  /// Opens the segment's file and checks its header.
  func open(_ segment: UInt32, _ mode: File.Mode) throws(StoreError) -> SegmentFile {
    let path = path(segment)
    let file: File
    let header: [UInt8]
    let isFile: Bool
    do throws(SystemError) {
      // Without O_NONBLOCK, opening a FIFO would wait for a writer.
      file = try File(path, mode.union([.noFollow, .nonBlocking]))
      isFile = try file.status().kind == .regular
      header = isFile ? try file.read(SegmentFormat.headerSize, at: 0) : []
    } catch {
      if error.errno == Errno.noEntry { throw .corrupt("\(path) is missing") }
      if error.errno == Errno.tooManySymlinks { throw .corrupt("\(path) is a symbolic link") }
      throw .system(error)
    }
    guard isFile else { throw .corrupt("\(path) is not a file") }
    let runs = try SegmentFormat.check(
      header: header, number: segment, store: store, path: path)
    guard let runs else { return SegmentFile(file: file, runs: nil) }
    return SegmentFile(file: file, runs: try SegmentRuns(of: file, count: runs))
  }

  /// Forgets the open file of a segment.
  func remove(_ segment: UInt32) {
    let dropped = state.withLock { $0.slots.removeValue(forKey: segment) }
    _ = dropped
  }

  func insert(_ file: SegmentFile, for segment: UInt32) {
    // Dropped files close when their last reader releases them, outside the lock.
    let dropped = state.withLock { state -> [SegmentFile] in
      state.clock += 1
      let old = state.slots.updateValue(Slot(file: file, used: state.clock), forKey: segment)
      guard state.slots.count > Self.bound else { return [old?.file].compactMap(\.self) }
      let oldest = state.slots.sorted { $0.value.used < $1.value.used }.prefix(Self.bound / 4)
      return oldest.compactMap { state.slots.removeValue(forKey: $0.key)?.file }
    }
    _ = dropped
  }

  func numbers() throws(StoreError) -> [UInt32] {
    try StoreError.translating(
      try FileSystem.list(directory).compactMap { SegmentFormat.number(of: $0) }.sorted())
  }
}
