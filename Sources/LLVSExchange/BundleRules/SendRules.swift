/// The rules by which a send leaves items out.
struct SendRules: Hashable, Sendable {
  /// The greatest age of a list at a PUT that leaves items out, in nanoseconds that include sleep.
  var listAge: UInt64 = 3_600_000_000_000
  /// An answered PUT counts for this many seconds, even if no list shows the bundle, where no server's clock orders
  /// the two.
  var unlistedAge: Int64 = 24 * 3600

  /// Shorter bundles are relied on by their writer only, which may remove them before the grace period.
  var leastLength: UInt64 = 0

  func mayPut(listedAt listed: UInt64, now: UInt64) -> Bool {
    now >= listed && now - listed <= listAge
  }

  /// Returns true if items in a bundle may be left out; `isProved` says that its bytes were found right.
  func mayLeaveOut(in name: BundleName, _ view: RemoteView, isProved: Bool) -> Bool {
    isProved && view.counts(name)
  }

  func mustListAgain(relyingOn needs: some Sequence<String>, as writer: String) -> Bool {
    needs.contains { $0 != writer }
  }

  /// Returns true if a list that does not show a bundle was not made after its PUT, by the server's clock.
  func countsUnlisted(putAt time: Int64, listedAt date: Int64) -> Bool { date <= time }

  /// Returns true if an unlisted bundle belongs to a view. Both times are seconds since 1970.
  func countsUnlisted(putAt time: Int64, now: Int64) -> Bool {
    now >= time && now - time <= unlistedAge
  }
}
