/// The rules by which a writer keeps the number of its bundles low.
struct CombiningRules: Hashable, Sendable {
  /// This many bundles of similar size become one, together with all smaller ones.
  var runLength = 16
  /// Their number in a directory. Replaced bundles stay there for thirty days, so combining makes no list shorter
  /// until then, and until then all bytes are there twice.
  static let runInDirectory = 256
  /// A bundle of this many bytes is full.
  var goal: UInt64 = 32 << 20
  /// The length at which a bundle is full, at a remote whose bundles have `total` bytes.
  static func goal(of total: UInt64) -> UInt64 { min(max(32 << 20, total / 1000), 1 << 30) }

  /// Returns the bundles to combine; none if there are few of each size.
  func toCombine(_ own: [BundleName]) -> [BundleName] {
    func size(_ name: BundleName) -> Int { (UInt64.bitWidth - name.length.leadingZeroBitCount) / 2 }
    let small = own.filter { $0.length < goal / 2 }
    let counts = Dictionary(grouping: small, by: size).mapValues(\.count)
    guard let largest = counts.filter({ $0.value >= runLength }).keys.max() else { return [] }
    return small.filter { size($0) <= largest }
  }
}
