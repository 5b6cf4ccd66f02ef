import LLVSCore
import Platform

/// Makes stores with many values or versions.
enum SampleStore {
  /// The number of values in the one large directory.
  static func bigCount(of count: Int) -> Int { max(count / 10, min(count, 2000)) }

  /// The key of the value at a position; keys ascend with positions.
  static func key(_ index: Int, of count: Int) -> Key {
    let big = bigCount(of: count)
    if index < big { return Key("big/\(1_000_000 + index)") }
    let rest = index - big
    return Key("d\(10_000 + rest / 100)/file\(1000 + rest % 100)")
  }

  /// Adds one version with `count` values of 200 bytes that do not compress, without holding them
  /// all in memory.
  @discardableResult
  static func fill(
    _ store: Store, count: Int, isHead: Bool = false
  ) throws(StoreError) -> VersionRecord {
    try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      let revisions = try transaction.allotRevisions(UInt64(count))
      var random = BenchRandom(UInt64(count))
      var index = 0
      let empty = store.map(.empty)
      let map = try empty.applying { () throws(StoreError) -> MapEdit? in
        guard index < count else { return nil }
        defer { index += 1 }
        var attributes = Attributes()
        attributes.mode = 0o644
        attributes.mtime = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 0)
        return .put(
          Entry(
            key: key(index, of: count), kind: .regular, attributes: attributes,
            stored: try transaction.write(random.bytes(200)), storedVersion: number,
            revision: revisions + UInt64(index)))
      }
      let record = try transaction.add(
        AuthoredVersion(number: number, first: nil, base: empty, map: map))
      if isHead { try transaction.setHead(number, map: map.root, reason: .imported) }
      return record
    }
  }

  /// Adds versions in a line, each with one changed value, up to 1,000 in a transaction.
  static func extend(
    _ store: Store, from first: VersionRecord, values: Int, versions: Int, seed: UInt64 = 7
  ) throws(StoreError) -> VersionRecord {
    var random = BenchRandom(seed)
    var last = first
    var rest = versions
    while rest > 0 {
      let batch = min(rest, 1000)
      last = try store.write { (transaction) throws(StoreError) in
        var last = last
        for _ in 0..<batch {
          let index = Int(random.next() % UInt64(values))
          last = try transaction.makeVersion(
            basedOn: Version.Predecessors(idOfFirst: last.id),
            storing: [.update(Value(id: key(index, of: values), data: random.bytes(200)))])
        }
        return last
      }
      rest -= batch
    }
    return last
  }
}
