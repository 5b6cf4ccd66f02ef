import LLVSCore
import Platform

/// The peers that did not answer in time. `autosync` leaves such a peer alone for a minute, then for twice as long.
struct SilentPeers {
  private static let first: UInt64 = 60_000_000_000
  /// An hour is the longest pause.
  private static let mostDoublings = 6
  private var peers: [String: (silences: Int, end: UInt64)] = [:]

  mutating func noteSilence(of name: String, now: UInt64 = SystemClock.boottime()) {
    let silences = (peers[name]?.silences ?? 0) + 1
    let pause = min(Self.first << min(silences - 1, Self.mostDoublings), 60 * Self.first)
    peers[name] = (silences, now + pause)
  }

  mutating func noteAnswer(of name: String) { peers[name] = nil }

  func without(_ peers: [Peer], now: UInt64 = SystemClock.boottime()) -> [Peer] {
    peers.filter { peer in self.peers[peer.name].map { $0.end <= now } ?? true }
  }
}
