// Which versions stand in which bundle: for bundles that were read whole or written here, so that none is
// read twice. It is committed with the versions or after them, so what it says is here is here.

extension Catalog {
  /// Runs of numbers of the versions in a bundle; nil where it was not read.
  package func versions(
    inBundle hash: Digest, in database: StoreDatabase
  ) throws(StoreError) -> [ClosedRange<UInt32>]? {
    guard hasBundles else { return nil }
    let statement = try database.prepared("SELECT versions FROM bundles WHERE hash = ?")
      .bind(1, hash.bytes)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    guard let runs = NumberSet.decode(statement.bytes(0)) else {
      throw .corrupt("\(path): what is noted of a bundle cannot be read")
    }
    return runs
  }

  func setVersions(
    _ versions: [VersionNumber], inBundle hash: Digest, in database: StoreDatabase
  ) throws(StoreError) {
    try database.prepared("INSERT OR REPLACE INTO bundles VALUES(?1,?2,llvs_sum(?1,?2))")
      .bind(1, hash.bytes).bind(2, NumberSet.encode(versions)).run()
  }

  /// The number of a version; nil where it is not here.
  package func number(of id: Version.ID, in database: StoreDatabase) throws(StoreError)
    -> VersionNumber?
  {
    let statement = try database.prepared("SELECT number FROM versions WHERE id = ?")
      .bind(1, Array(id.rawValue.utf8))
    defer { statement.reset() }
    return try statement.step() ? statement.number(0) : nil
  }
}

/// A set of version numbers, a bit each.
package struct NumberSet {
  private var words: [UInt64] = []

  package init() {}

  package func contains(_ number: VersionNumber) -> Bool {
    let index = Int(number.rawValue / 64)
    return index < words.count && words[index] & 1 << UInt64(number.rawValue % 64) != 0
  }

  package mutating func insert(_ run: ClosedRange<UInt32>) {
    let count = Int(run.upperBound / 64) + 1
    if words.count < count {
      words.append(contentsOf: repeatElement(0, count: count - words.count))
    }
    for number in run { words[Int(number / 64)] |= 1 << UInt64(number % 64) }
  }

  // MARK: As bytes: for each run, varint numbers since the end of the run before, varint numbers in it

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
