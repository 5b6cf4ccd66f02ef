/// The bundles of a remote as an exchange has seen them: in a list, and when it read or put some.
struct SeenBundles: Sendable {
  typealias Fault = (reading: KnownBundle.Reading, reason: String)
  private(set) var listing: BundleListing
  var listed: Set<BundleName>
  var faults: [BundleName: Fault] = [:]
  var gone: Set<BundleName> = []
  var put: Set<BundleName> = []

  init(_ listing: BundleListing) {
    self.listing = listing
    listed = Set(listing.names)
  }

  /// Replaces the list; faults of listed bundles stay.
  mutating func list(_ listing: BundleListing) {
    let faults = faults
    self = SeenBundles(listing)
    self.faults = faults.filter { listed.contains($0.key) }
  }
}
