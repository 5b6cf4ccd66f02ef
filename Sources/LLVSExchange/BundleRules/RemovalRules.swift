/// The rules by which a writer removes its own bundles.
///
/// INVARIANT X3: a removed bundle was announced a grace period ago, by this store's clock and by the server's
///   where that is known, or no other writer relies on it; afterwards a list showed that every bundle that needs
///   its items finds them elsewhere.
struct RemovalRules: Hashable, Sendable {
  /// The time between the announcement of a bundle and its removal, in seconds.
  var grace: Int64
  /// Remotes that answer requests.
  static let server = RemovalRules(grace: 24 * 3600)
  /// Directories, which may be synchronised with devices that are away.
  static let directory = RemovalRules(grace: 30 * 24 * 3600)

  /// The most announced bundles that wait for the grace period though no other store relies on them.
  static let mostWaiting = 64

  struct Announcement: Hashable, Sendable {
    /// By this store's clock, in seconds since 1970.
    var made: Int64
    /// By the server's clock; nil where that is not told.
    var written: Int64?
  }

  struct Listing: Hashable, Sendable {
    /// By this store's clock, in seconds since 1970.
    var now: Int64
    /// The newest time of an object in the list, by the server's clock; nil where that is not told.
    var newest: Int64?
  }

  /// Returns true once the grace period has passed on this clock, which may not go back, and on the server's.
  func hasPassed(since announcement: Announcement, _ list: Listing) -> Bool {
    guard list.now >= announcement.made, list.now - announcement.made >= grace else { return false }
    guard let written = announcement.written else { return true }
    guard let newest = list.newest else { return false }
    return newest >= written && newest - written >= grace
  }

  /// Returns the parts that no counting bundle holds; `holders` returns the bundles of a part.
  static func uncovered<Part, Failure: Error>(
    _ parts: some Sequence<Part>, in view: RemoteView,
    holders: (Part) throws(Failure) -> [BundleName]
  ) throws(Failure) -> [Part] {
    var uncovered: [Part] = []
    for part in parts {
      let names = try holders(part)
      if !names.contains(where: { view.counts($0) }) { uncovered.append(part) }
    }
    return uncovered
  }
}
