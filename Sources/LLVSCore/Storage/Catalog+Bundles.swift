// The versions in each bundle that was read completely or written here, so that no bundle is read twice. A row is
// committed with the versions of its bundle or after them.

extension StoreDatabase {
  /// Returns the ranges of numbers of the versions in a bundle; nil if the bundle was not read.
  package func versions(inBundle hash: Digest) throws(StoreError) -> [ClosedRange<UInt32>]? {
    try prepared("SELECT hash, versions FROM bundles WHERE hash = ?").bind(1, hash.bytes)
      .first(bundle)?.runs
  }

  /// Returns the ranges of numbers of the versions in every bundle that was read, by its hash.
  package func versionsOfBundles() throws(StoreError) -> [Digest: [ClosedRange<UInt32>]] {
    let bundles = try prepared("SELECT hash, versions FROM bundles").all(bundle)
    return Dictionary(bundles.map { ($0.hash, $0.runs) }) { $1 }
  }

  private func bundle(
    _ row: StoreStatement
  ) throws(StoreError) -> (hash: Digest, runs: [ClosedRange<UInt32>]) {
    guard let hash = Digest(bytes: row.bytes(0)), let runs = NumberSet.decode(row.bytes(1)) else {
      throw .corrupt("\(path): what is noted of a bundle cannot be read")
    }
    return (hash, runs)
  }

  func setVersions(_ versions: [VersionNumber], inBundle hash: Digest) throws(StoreError) {
    try prepared("INSERT OR REPLACE INTO bundles VALUES(?1,?2,llvs_sum(?1,?2))")
      .bind(1, hash.bytes).bind(2, NumberSet.encode(versions)).run()
  }
}

package struct NumberSet: Equatable, Sendable {
  private var words: [UInt64] = []

  package init() {}

  package func contains(_ number: VersionNumber) -> Bool {
    let index = Int(number.rawValue / 64)
    return index < words.count && words[index] & 1 << UInt64(number.rawValue % 64) != 0
  }

  package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  package var isEmpty: Bool { count == 0 }

  /// The greatest number up to which the set has all numbers from 1 on; 0 if it lacks 1.
  package var beginning: UInt32 {
    for (index, word) in words.enumerated() {
      // There is no version 0.
      let missing = ~(index == 0 ? word | 1 : word)
      if missing != 0 { return UInt32(index * 64 + missing.trailingZeroBitCount) - 1 }
    }
    return words.isEmpty ? 0 : UInt32(words.count * 64 - 1)
  }

  package mutating func insert(_ run: ClosedRange<UInt32>) {
    let count = Int(run.upperBound / 64) + 1
    if words.count < count {
      words.append(contentsOf: repeatElement(0, count: count - words.count))
    }
    for number in run { words[Int(number / 64)] |= 1 << UInt64(number % 64) }
  }

  // MARK: As bytes: for each run, varint distance from the end of the run before, varint count

  static func encode(_ numbers: [VersionNumber]) -> [UInt8] {
    var bytes: [UInt8] = []
    var end: UInt32 = 0
    var rest = numbers.map(\.rawValue).sorted()[...]
    while let first = rest.popFirst() {
      var last = first
      while let next = rest.first, next <= last &+ 1 {
        last = next
        rest.removeFirst()
      }
      bytes.append(varint: UInt64(first - end))
      bytes.append(varint: UInt64(last - first) + 1)
      end = last
    }
    return bytes
  }

  static func decode(_ bytes: [UInt8]) -> [ClosedRange<UInt32>]? {
    bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      var runs: [ClosedRange<UInt32>] = []
      var end: UInt64 = 0
      while reader.remaining > 0 {
        guard let gap = reader.varint(), let count = reader.varint(), count > 0,
          gap <= UInt64(UInt32.max), count <= UInt64(UInt32.max),
          end + gap + count - 1 <= UInt64(UInt32.max)
        else { return nil }
        let first = UInt32(end + gap)
        end += gap + count - 1
        runs.append(first...UInt32(end))
      }
      return runs
    }
  }
}
