import Events
import LLVSCore
import Platform
import TreeNames

// A disk that had a moment. After a failed sync nothing is known of what the kernel has still to write, and
// it does not write it again. So the files are given up: what is pending is read back, compared with its
// checksums, and written anew, in staging files and a generation of the journal of their own.
//
// INVARIANT J7: a file whose sync failed is never written or synced again, no record that is made later
//   refers to it, and until another generation stands on the disk nothing is answered. Bytes that cannot be
//   read back are an error for who reads them, as J6 has it.

extension Journal {
  /// What is known of syncs that failed.
  struct Healing {
    /// Data files whose sync failed and that are there still.
    var givenUp: Set<UInt32> = []
    /// Somebody writes everything anew; the others wait.
    var isUnderWay = false
    /// Not before this time, on the monotonic clock: a disk that is gone is not asked all the time.
    var notBefore: UInt64 = 0
    /// How long to wait after the next attempt that fails.
    var pause = Journal.shortestPause
    /// Data files from this number on were made after the sync failed: no record on the disk refers to them.
    var firstCopy: UInt32 = .max
    /// How often bytes could not be read back.
    var losses = 0
    /// The error of the last sync that failed.
    var lastFailure: SystemError?
    /// Writes everything anew, if it can do so now: it must not wait for a version that is being made.
    var healer: (@Sendable () -> Void)?
  }

  /// How long a disk is left alone that did not take what was to be written anew: at first, and at most.
  private static let shortestPause: UInt64 = 1_000_000_000
  private static let longestPause: UInt64 = 4_000_000_000

  /// Takes nothing more into these files, since a sync has failed, and says so.
  func fail(_ error: SystemError, givingUp files: Set<UInt32>) {
    let isFirst = state.withLock { s in
      s.healing.givenUp.formUnion(files)
      s.healing.lastFailure = error
      for number in files { s.stagesToSync[number] = nil }
      s.leaveStages { files.contains($0) }
      guard s.failure == nil else { return false }
      s.failure = error
      s.healing.firstCopy = s.nextNumber
      s.healing.pause = Self.shortestPause
      s.healing.notBefore = 0
      return true
    }
    if isFirst { damage.say(Self.remedy(error)) }
  }

  /// What a failed sync means, and what helps.
  static func remedy(_ error: SystemError) -> String {
    "\(error): the disk may lack some of what was written. Pending changes are being written again; "
      + "until that has succeeded the mount is read-only"
  }

  /// Why nothing is recorded now; nil as a rule.
  package var refusal: String? { state.withLock { $0.failure }.map(Self.remedy) }

  /// Whether a data file was given up, so that nothing may be recorded that refers to it.
  func isGivenUp(_ number: UInt32) -> Bool {
    state.withLock { $0.healing.givenUp.contains(number) }
  }

  /// Has everything written anew after a failed sync; returns at once where none has failed.
  ///
  /// `ownHealer` is tried at once, also where the disk is left alone for a while.
  ///
  /// - Throws: ``FSError/system(_:)`` with what the sync said, where it cannot be done now.
  /// - Concurrency: call with no lock held; one thread does it, and the others wait for the disk.
  func recover(by ownHealer: (@Sendable () -> Void)? = nil) throws(FSError) {
    enum Step {
      case none
      case heal(@Sendable () -> Void)
    }
    let step = try state.wait { (s) throws(FSError) -> Step? in
      guard let failure = s.failure else { return Step.none }
      if s.healing.isUnderWay { return nil }
      let isTime = ownHealer != nil || SystemClock.monotonic() >= s.healing.notBefore
      guard isTime, let healer = ownHealer ?? s.healing.healer else { throw .system(failure) }
      s.healing.isUnderWay = true
      return .heal(healer)
    }
    guard case .heal(let healer)? = step else { return }
    healer()
    let failure = state.withLock { s -> SystemError? in
      s.healing.isUnderWay = false
      return s.failure
    }
    state.broadcast()
    if let failure { throw .system(failure) }
  }

  // MARK: - What is written anew

  /// Waits until nobody writes, and gives up every file of which it is not known that it can be synced;
  /// false where no sync has failed.
  func beginHealing() throws(SystemError) -> Bool {
    enum Step {
      case none
      case heal(Tail?)
    }
    let step = state.wait { s -> Step? in
      guard s.failure != nil else { return Step.none }
      if s.isWriting || s.isSyncing { return nil }
      // A generation that is begun in memory alone is left for the one that follows.
      s.healing.givenUp.formUnion(s.unbegun?.files ?? [])
      s.healing.givenUp.insert(s.generation)
      for number in s.healing.givenUp { s.stagesToSync[number] = nil }
      let givenUp = s.healing.givenUp
      s.leaveStages { givenUp.contains($0) }
      return .heal(s.unbegun?.tail)
    }
    guard case .heal(let tail)? = step else { return false }
    // To be read back below like everything that stands there.
    if let tail, !tail.bytes.isEmpty { try tail.file.write(tail.bytes, at: tail.at) }
    return true
  }

  /// The payloads of files given up that have bytes in some ranges, besides those that were met before.
  func payloadsGivenUp(
    in ranges: [UInt32: [Range<UInt64>]], besides met: Set<PayloadPlace>
  ) -> [PayloadPlace] {
    state.withLock { s in
      var found: [PayloadPlace] = []
      for (source, ranges) in ranges where s.healing.givenUp.contains(source) {
        guard let sums = s.sums[source] else { continue }
        for payload in sums.overlapping(anyOf: ranges).payloads {
          let place = PayloadPlace(source: source, payload: payload)
          if !met.contains(place) { found.append(place) }
        }
      }
      return found.sorted { ($0.source, $0.payload.offset) < ($1.source, $1.payload.offset) }
    }
  }

  /// The bytes of a payload as they were written; nil where they cannot be read back.
  func bytes(of place: PayloadPlace) -> [UInt8]? {
    let payload = place.payload
    let (file, buffered) = state.withLock { s -> (File?, [UInt8]?) in
      guard place.source == s.generation, payload.offset >= s.fileEnd else {
        return (s.files[place.source], nil)
      }
      let start = payload.offset - s.fileEnd
      guard start + UInt64(payload.length) <= UInt64(s.buffer.count) else { return (nil, nil) }
      return (nil, Array(s.buffer[Int(start)..<Int(start) + Int(payload.length)]))
    }
    guard let bytes = buffered ?? (try? file?.read(Int(payload.length), at: payload.offset)),
      bytes.count == Int(payload.length), Checksum.of(bytes) == payload.checksum
    else { return nil }
    return bytes
  }

  /// Notes how it went: a disk that does not take what is pending is asked again only after a while, and
  /// copies that nothing refers to are removed.
  func noteHealed(losses: Int, referenced: () -> Set<UInt32>) {
    let hasFailed = state.withLock { $0.failure != nil }
    let kept = hasFailed ? referenced() : []
    let gone = state.withLock { s -> [UInt32: File] in
      if losses > 0 { s.healing.losses += 1 }
      guard s.failure != nil else { return [:] }
      s.healing.notBefore = SystemClock.monotonic() &+ s.healing.pause
      s.healing.pause = min(2 * s.healing.pause, Self.longestPause)
      let gone = s.files.filter { number, _ in
        number >= s.healing.firstCopy && !kept.contains(number) && s.unrecorded[number] == nil
          && number != s.generation && !s.isStaging(in: number)
      }
      for number in gone.keys {
        s.files[number] = nil
        s.sums[number] = nil
        s.healing.givenUp.remove(number)
      }
      return gone
    }
    // One that cannot be removed now is removed at the next mount.
    for file in gone.values { try? FileSystem.unlink(file.path) }
    if !hasFailed { damage.say("pending changes were written again, and are on the disk") }
  }
}

/// Where a payload stands.
struct PayloadPlace: Hashable, Sendable {
  var source: UInt32
  var payload: Payload
}
