import LLVSCore
import Platform

/// The last check for the original's files at a remote on a server, because each check is a request. A remote
/// without them is checked once an hour: only a program of the original's creates them.
struct LayoutProbe {
  private let store: Store
  private let name: String
  /// Seconds.
  private static let lifetime: Int64 = 3600

  init(of place: String, _ store: Store) {
    self.store = store
    name = "peer.without-files \(place)"
  }

  /// True if there were none within the last hour, by a clock that was not set back since.
  var isFresh: Bool {
    guard let bytes = store.noted(name), let seen = Int64(String(decoding: bytes, as: UTF8.self))
    else { return false }
    let age = SystemClock.realtime().seconds - seen
    return age >= 0 && age < Self.lifetime
  }

  func noteNone() { store.note(name, Array("\(SystemClock.realtime().seconds)".utf8)) }
}
