import Events
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
  /// The most values whose keys are kept.
  private static let mostNamed = 3

  private struct Wait: Hashable {
    /// In nanoseconds since 1970.
    var begin: Int64
    var key: Key?
  }

  /// The waits, by the digest of the value in hexadecimal digits.
  private var waits: [String: Wait] = [:]

  /// Reads the bytes that ``encoded`` made; lines that cannot be read are left out.
  init(_ bytes: [UInt8]?) {
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard (2...3).contains(words.count), words[0].utf8.count == 64, let begin = Int64(words[1]),
        (0..<Int64.max / 2).contains(begin)
      else { continue }
      let key = words.count == 3 ? PercentCode.decoded(words[2].utf8) : nil
      waits[String(words[0])] = Wait(begin: begin, key: key.map { Key(bytes: $0) })
    }
  }

  /// Nil without a value.
  var encoded: [UInt8]? {
    let lines = waits.map { digest, wait in
      var line = Array("\(digest) \(wait.begin)".utf8)
      if wait.key != nil { line.append(UInt8(ascii: " ")) }
      for byte in wait.key?.bytes ?? [] { PercentCode.append(byte, "-._~/", to: &line) }
      return line
    }
    let sorted = lines.sorted { $0.lexicographicallyPrecedes($1) }
    return sorted.isEmpty ? nil : Array(sorted.joined(separator: [0x0A]))
  }

  var count: Int { waits.count }
  /// The first keys, in order.
  var keys: [Key] { waits.values.compactMap(\.key).sorted() }
  /// The end of the longest wait, in nanoseconds since 1970; nil without a value.
  var end: Int64? { waits.values.map(\.begin).max().map { $0 + Self.patience } }

  /// Waits for these values and no others from now on. Returns the end of the wait for each.
  mutating func wait(for values: [LackedValue], at now: Int64) -> [Int64] {
    let before = waits
    waits = [:]
    return values.enumerated().map { index, value in
      // After a clock that was wrong, the wait begins again.
      let begin = before[value.digest.hex].flatMap { $0.begin <= now ? $0.begin : nil } ?? now
      waits[value.digest.hex] = Wait(begin: begin, key: index < Self.mostNamed ? value.key : nil)
      return begin + Self.patience
    }
  }
}

/// A merge that waits for bytes.
struct WaitingMerge {
  /// The names of the other heads.
  var heads: [String]
  var wait: MergeWait
  var end: Int64

  var text: String {
    let shown = heads.prefix(3).joined(separator: ", ") + (heads.count > 3 ? ", ..." : "")
    let paths = wait.keys.map { PrintableText.text(TreeView.ownPath($0)) }
    let rest = wait.count - paths.count
    let files = paths.joined(separator: ", ")
    let bytes =
      paths.isEmpty
      ? PrintableText.count(wait.count, "file")
      : rest > 0 ? "\(files) and \(PrintableText.count(rest, "more file"))" : files
    return
      "the merge with \(shown) waits until \(TimestampText.short(end)) for bytes of \(bytes) that this store "
      + "lacks; a sync with a peer that has them ends the wait, \"llvs merge \(heads.first ?? "VERSION")\" merges "
      + "now and takes the newer change"
  }

  var reply: ReplyValue {
    [
      "heads": heads, "paths": wait.keys.map { TreeView.ownPath($0) }, "values": wait.count,
      "until": TimestampText.iso(end), "text": text,
    ]
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
        if try isAutomatic || countToMerge() == 0 { _ = try wait(for: []) }
        return outcome
      } catch {
        let wanted = lacked.takeWanted()
        guard !wanted.isEmpty, ControlError(any: error).kind == .forgotten else { throw error }
        let (left, asked) = try fetch(wanted, lacked, context)
        let ends = isAutomatic && asked > 0 ? try wait(for: left) : []
        let now = clock.now()
        let waiting = zip(left, ends).filter { $0.1 > now }
        lacked.abandon(left.filter { value in !waiting.contains { $0.0 == value } })
        if !waiting.isEmpty, let merge = try waitingMerge() {
          return MergeOutcome.waiting(merge.text)
        }
      }
    }
  }

  /// Returns the merge that waits for bytes; nil if none does.
  func waitingMerge() throws -> WaitingMerge? {
    let wait = MergeWait(try store.state().settings[MergeWait.setting])
    guard let end = wait.end, let head = try headRecord() else { return nil }
    let heads = try self.heads(otherThan: head)
    guard !heads.isEmpty else { return nil }
    let names = try heads.prefix(16).compactMap { try store.version($0.number)?.name }
    return WaitingMerge(heads: names, wait: wait, end: end)
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
        if before == nil, let merge = try waitingMerge() { log.add("merge", merge.text) }
      }
      return ends
    }
  }
}
