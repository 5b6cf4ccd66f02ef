/// The rules by which a send leaves items out.
struct SendRules: Hashable, Sendable {
  /// A list on which the leaving out of items rests is at most so old, in nanoseconds of the clock
  /// that goes on while the machine sleeps, when the PUT begins.
  var listAge: UInt64 = 3_600_000_000_000
  /// A PUT that was answered counts for so long, in seconds, though no list shows the bundle.
  var unlistedAge: Int64 = 24 * 3600

  /// Returns true if a bundle may be put whose leaving out rests on a list.
  func mayPut(listedAt listed: UInt64, now: UInt64) -> Bool {
    now >= listed && now - listed <= listAge
  }

  /// Returns true if items in a bundle may be left out. `isProved` says that this store put the
  /// bundle, or took bytes out of it and found them right.
  func mayLeaveOut(in name: BundleName, _ view: RemoteView, isProved: Bool) -> Bool {
    isProved && view.counts(name)
  }

  /// Returns true if a send has to list again before it is complete: it relies on a bundle that
  /// another writer may be removing.
  func mustListAgain(relyingOn needs: some Sequence<String>, as writer: String) -> Bool {
    needs.contains { $0 != writer }
  }

  /// Returns true if a bundle that was put belongs to a view though no list shows it yet. Both times
  /// are seconds since 1970.
  func countsUnlisted(putAt time: Int64, now: Int64) -> Bool {
    now >= time && now - time <= unlistedAge
  }
}
