import LLVSCore

/// The bundles of a remote as an exchange has seen them: in a list, and when it read or put some.
struct SeenBundles: Sendable {
  /// A bundle that could not be read.
  typealias Fault = (reading: KnownBundle.Reading, reason: String)

  private(set) var listing: BundleListing
  /// The bundles that the list shows.
  private(set) var listed: Set<BundleName>
  /// The bundles that could not be read, and why.
  private(set) var faults: [BundleName: Fault] = [:]
  /// The bundles that were listed and are gone.
  private(set) var gone: Set<BundleName> = []
  /// The bundles that were put after the list.
  private(set) var put: Set<BundleName> = []

  init(_ listing: BundleListing) {
    self.listing = listing
    listed = Set(listing.names)
  }

  /// Takes a new list: what it shows is there, and can be read as far as it could before.
  mutating func list(_ listing: BundleListing) {
    let faults = faults
    self = SeenBundles(listing)
    self.faults = faults.filter { listed.contains($0.key) }
  }

  mutating func notePut(_ name: BundleName) { put.insert(name) }

  mutating func noteGone(_ name: BundleName) { gone.insert(name) }

  mutating func noteFault(_ name: BundleName, _ fault: Fault?) { faults[name] = fault }
}
