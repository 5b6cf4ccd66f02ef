import Grammar
import LLVSCore
import LLVSExchange
import Platform
import TreeNames

/// The values that automatic merges wait for, in a setting of their own.
struct MergeWait: Hashable {
  static let setting = "merge.waits"
  /// The longest wait for the bytes of a value, in nanoseconds.
  static let patience: Int64 = 86_400_000_000_000
  /// When the wait for each value began, in nanoseconds since 1970, by its digest in hexadecimal digits.
  private var begins: [String: Int64] = [:]

  /// Reads the bytes that ``encoded`` made; lines that cannot be read are left out.
  init(_ bytes: [UInt8]?) {
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count == 2, words[0].utf8.count == 64, let time = Int64(words[1]),
        (0..<Int64.max / 2).contains(time)
      else { continue }
      begins[String(words[0])] = time
    }
  }

  /// Nil without a value.
  var encoded: [UInt8]? {
    let lines = begins.map { "\($0.key) \($0.value)" }.sorted()
    return lines.isEmpty ? nil : Array(lines.joined(separator: "\n").utf8)
  }

  /// Waits for these values and no others from now on. Returns the end of the wait for each.
  mutating func wait(for values: [LackedValue], at now: Int64) -> [Int64] {
    let before = begins
    begins = [:]
    return values.map { value in
      // After a clock that was wrong, the wait begins again.
      let begin = before[value.digest.hex].flatMap { $0 <= now ? $0 : nil } ?? now
      begins[value.digest.hex] = begin
      return begin + Self.patience
    }
  }
}

extension ControlService {
  /// Repeats an attempt at a merge until it has the bytes that it needs (docs/merging.md, M16). They come from peers.
  /// If no peer has them, an automatic merge waits a day, and then takes the newer change.
  func withLackedBytes(
    _ lacked: LackedBytes, isAutomatic: Bool, _ context: CommandContext,
    _ attempt: () throws -> MergeOutcome
  ) throws -> MergeOutcome {
    while true {
      do {
        let outcome = try attempt()
        if isAutomatic { _ = try wait(for: []) }
        return outcome
      } catch {
        let wanted = lacked.takeWanted()
        guard !wanted.isEmpty, ControlError(any: error).kind == .forgotten else { throw error }
        let (left, asked) = try fetch(wanted, lacked, context)
        let ends = isAutomatic && asked > 0 ? try wait(for: left) : []
        let now = clock.now()
        let waiting = zip(left, ends).filter { $0.1 > now }
        lacked.abandon(left.filter { value in !waiting.contains { $0.0 == value } })
        if let first = waiting.first {
          let text =
            "the merge waits until \(TimestampText.short(waiting.map(\.1).max() ?? now)) for bytes of "
            + "\(PrintableText.text(TreeView.ownPath(first.0.key))) that this store has forgotten"
          return MergeOutcome.waiting(text)
        }
      }
    }
  }

  /// Asks the peers for values, and supplies those that they have.
  /// - Returns: the values that no peer has, and the number of peers that may have some.
  private func fetch(
    _ wanted: [LackedValue], _ lacked: LackedBytes, _ context: CommandContext
  ) throws(ControlError) -> (left: [LackedValue], asked: Int) {
    guard !settings.isolated else { return (wanted, 0) }
    var left = wanted
    var peers: [Peer] = []
    for peer in try allPeers() {
      if case .document = try PeerAddress(peer.address) { continue }
      if try peerSettings(peer.name).direction != .sendOnly { peers.append(peer) }
    }
    let silent = silentPeers.withLock { $0 }
    for peer in silent.without(peers) where !left.isEmpty {
      do throws(ControlError) {
        let values = left
        let found = try asking(peer, PeerSession(context)) { remote, control in
          try remote.bytes(of: values, for: store, control)
        }
        for (digest, bytes) in found { lacked.supply(bytes, for: digest) }
        left.removeAll { found[$0.digest] != nil }
      } catch {
        // Another peer may have them, and this one later.
        if error.kind == .interrupted { throw error }
      }
    }
    return (left, peers.count)
  }

  /// Notes the values that merges wait for. Returns the end of each wait, in nanoseconds since 1970.
  private func wait(for values: [LackedValue]) throws(ControlError) -> [Int64] {
    try translating {
      let before = try store.state().settings[MergeWait.setting]
      guard before != nil || !values.isEmpty else { return [] }
      var wait = MergeWait(before)
      let ends = wait.wait(for: values, at: clock.now())
      if wait.encoded != before {
        let bytes = wait.encoded
        try store.write { (transaction) throws(StoreError) in
          transaction.set(MergeWait.setting, to: bytes)
        }
      }
      return ends
    }
  }
}
