import LLVSCore

@testable import StoreSupport

/// The content digest of digest 1, computed the slow way, straight from its definition.
enum NaiveTree {
  private static func keyHash(_ key: [UInt8]) -> [UInt8] {
    Digest.of(Array("llvs key 1".utf8) + key).bytes
  }

  private static func bits(_ hash: [UInt8], _ level: Int) -> Bool {
    (6 * level..<6 * level + 6).allSatisfy { hash[31 - $0 / 8] >> UInt8($0 % 8) & 1 == 0 }
  }

  private static func integer<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    stride(from: T.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  static func entryBytes(_ entry: Entry) -> [UInt8] {
    [entry.kind.rawValue] + integer(UInt32(entry.key.bytes.count)) + entry.key.bytes
      + integer(entry.stored.length) + entry.stored.digest.bytes + entry.attributes.encoded
  }

  private static func cut(_ run: [([UInt8], [UInt8])]) -> [[([UInt8], [UInt8])]] {
    guard run.count > 256 else { return [run] }
    var smallest = run.count / 4
    for index in run.count / 4...3 * run.count / 4
    where !run[smallest].1.lexicographicallyPrecedes(run[index].1) {
      smallest = index
    }
    return cut(Array(run[...smallest])) + cut(Array(run[(smallest + 1)...]))
  }

  static func digest(_ entries: [Entry]) -> Digest {
    var items = entries.map { (Digest.of(entryBytes($0)).bytes, keyHash($0.key.bytes)) }
    var level = 0
    while true {
      var runs: [[([UInt8], [UInt8])]] = []
      var run: [([UInt8], [UInt8])] = []
      for item in items {
        run.append(item)
        if bits(item.1, level) {
          runs += cut(run)
          run = []
        }
      }
      if !run.isEmpty || runs.isEmpty { runs += cut(run) }
      items = runs.map { run in
        let node =
          Array("llvs map node 1".utf8) + [UInt8(level)] + integer(UInt32(run.count))
          + run.flatMap(\.0)
        return (Digest.of(node).bytes, run.last?.1 ?? [])
      }
      if items.count == 1 { return Digest(bytes: items[0].0) ?? Digest.of([]) }
      level += 1
    }
  }
}
