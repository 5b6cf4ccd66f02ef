import LLVSCore
import ObjectStores
internal import Platform
internal import Synchronization

/// The bytes of a bundle at a remote, read by ranges.
/// A bundle up to 256 KiB is read whole, a longer one's last 64 KiB first; read-ahead is 1 to 8 MiB, less at a slow
/// remote.
/// - Concurrency: any thread.
final class RemoteBytes: BundleBytes {
  /// Parts of bundles in memory, the newest last, up to a number of bytes for a whole exchange.
  final class Cache: Sendable {
    struct Part: Sendable {
      let bundle: Digest
      let start: UInt64
      let bytes: [UInt8]
      var end: UInt64 { start + UInt64(bytes.count) }
    }

    private let budget: Int
    private let parts = Mutex<[Part]>([])

    init(budget: Int = 48 << 20) { self.budget = budget }

    func bytes(of bundle: Digest, _ range: Range<UInt64>) -> [UInt8]? {
      parts.withLock { parts in
        guard
          let at = parts.lastIndex(where: {
            $0.bundle == bundle && $0.start <= range.lowerBound && range.upperBound <= $0.end
          })
        else { return nil }
        let part = parts.remove(at: at)
        parts.append(part)
        let from = Int(range.lowerBound - part.start)
        return Array(part.bytes[from..<(from + range.count)])
      }
    }

    func keep(_ part: Part) {
      parts.withLock { parts in
        parts.append(part)
        var bytes = parts.reduce(0) { $0 + $1.bytes.count }
        while bytes > budget, parts.count > 1 { bytes -= parts.removeFirst().bytes.count }
      }
    }
  }

  private let name: BundleName
  private let objects: any ObjectStore
  private let cache: Cache
  private let check: @Sendable () throws(StoreError) -> Void
  /// The longest time for a range before the ranges become shorter, in nanoseconds.
  private static let patience: UInt64 = 2_000_000_000
  /// The end of the last range, and the number of bytes to read ahead of the next.
  private let sequence = Mutex<(end: UInt64, ahead: UInt64)>((0, 0))

  init(
    _ name: BundleName, _ objects: any ObjectStore, cache: Cache,
    check: @escaping @Sendable () throws(StoreError) -> Void
  ) {
    self.name = name
    self.objects = objects
    self.cache = cache
    self.check = check
  }

  func read(_ range: Range<UInt64>) throws(StoreError) -> [UInt8] {
    if let known = cache.bytes(of: name.hash, range) { return known }
    let wanted = wider(range)
    let began = SystemClock.monotonic()
    let bytes = try get(wanted)
    // An interruption loses the range that is on its way.
    let isSlow = SystemClock.monotonic() - began > Self.patience
    if isSlow { sequence.withLock { $0.ahead /= 2 } }
    cache.keep(.init(bundle: name.hash, start: wanted.lowerBound, bytes: bytes))
    let from = Int(range.lowerBound - wanted.lowerBound)
    return Array(bytes[from..<(from + range.count)])
  }

  func prepare(_ range: Range<UInt64>) throws(StoreError) {
    // Longer ranges are read part by part.
    guard range.count <= 16 << 20, cache.bytes(of: name.hash, range) == nil else { return }
    let bytes = try get(range)
    cache.keep(.init(bundle: name.hash, start: range.lowerBound, bytes: bytes))
  }

  private func wider(_ range: Range<UInt64>) -> Range<UInt64> {
    if name.length <= BundleFormat.wholeLength { return 0..<name.length }
    if range.upperBound > name.length - BundleFormat.suffixLength {
      return min(range.lowerBound, name.length - BundleFormat.suffixLength)..<name.length
    }
    let ahead = sequence.withLock { sequence -> UInt64 in
      let follows = range.lowerBound <= sequence.end && sequence.end <= range.upperBound
      let ahead = follows ? min(max(sequence.ahead * 2, 1 << 20), 8 << 20) : 0
      sequence = (range.upperBound + ahead, ahead)
      return ahead
    }
    return range.lowerBound..<min(range.upperBound + ahead, name.length)
  }

  func readAgain(_ range: Range<UInt64>) throws(StoreError) -> [UInt8] { try get(range) }

  private func get(_ range: Range<UInt64>) throws(StoreError) -> [UInt8] {
    var attempt = 1
    while true {
      do throws(StoreError) {
        return try getOnce(range)
      } catch {
        // Bytes may be cut or changed on their way.
        guard case .invalid = error, attempt < BundleReader.readings else { throw error }
        attempt += 1
      }
    }
  }

  private func getOnce(_ range: Range<UInt64>) throws(StoreError) -> [UInt8] {
    try check()
    let isWhole = range == 0..<name.length
    var bytes: [UInt8] = []
    do throws(RemoteError) {
      bytes = try objects.bytes(
        of: name.object, range: isWhole ? nil : range, atMost: range.count)
    } catch {
      switch error.kind {
      case .absent: throw .notFound("\(name.object)")
      // Longer than its name says.
      case .malformed: throw .invalid("\(name.object): it is not whole")
      default: throw StoreError(error)
      }
    }
    guard bytes.count == range.count else { throw .invalid("\(name.object): it is not whole") }
    if isWhole {
      guard Digest.of(bytes) == name.hash else {
        throw .invalid("\(name.object): damaged (checksum)")
      }
      guard bytes.starts(with: BundleFormat.magic) else {
        throw .invalid("\(name.object): it is no bundle")
      }
    }
    return bytes
  }
}
