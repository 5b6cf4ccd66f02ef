import Grammar
import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

/// The peers of one command; each is opened once.
/// - Concurrency: for the command's thread. After ``prepare(_:)``, one thread at a time for each peer.
final class PeerSession {
  struct Opened {
    let layout: any RemoteLayout
    let control: ExchangeControl
    let progress: PeerProgress
  }

  private final class Slot {
    var opened: Opened?
    var half: ExchangeHalf?
    var hasAnswered = false
  }

  let context: CommandContext
  private var slots: [String: Slot] = [:]
  private let named: Set<String>
  /// The peers that are being served; the progress of the first is shown. A leaf lock.
  private let served = Monitor<[String]>([])

  init(_ context: CommandContext, named: [String] = []) {
    self.context = context
    self.named = Set(named)
  }

  func isNamed(_ name: String) -> Bool { named.contains(name) }
  func hasAnswered(_ name: String) -> Bool { slot(name).hasAnswered }
  func noteAnswer(of peer: Peer) { slot(peer.name).hasAnswered = true }

  func begin(_ half: ExchangeHalf, with peer: Peer) {
    slot(peer.name).half = half
    served.withLock { $0.append(peer.name) }
  }

  func end(_ peer: Peer) { served.withLock { $0.removeAll { $0 == peer.name } } }

  /// Prepares for the use of these peers from several threads.
  func prepare(_ peers: [Peer]) { for peer in peers { _ = slot(peer.name) } }

  private func slot(_ name: String) -> Slot {
    if let known = slots[name] { return known }
    let made = Slot()
    slots[name] = made
    return made
  }

  /// Returns the progress of the current half of an exchange: its versions, as a number and in words.
  func reached(_ peer: Peer) -> (half: ExchangeHalf?, count: Int, text: String) {
    let slot = slot(peer.name)
    guard let half = slot.half else { return (nil, 0, "") }
    let step = slot.opened?.progress.counted(half == .send ? .sending : .storing)
    let done = step?.done ?? 0
    let total = step.map { max($0.done, $0.total) } ?? 0
    let number = step == nil ? "no" : total > done ? "\(done) of \(total)" : "\(done)"
    let verb = half == .send ? "sent" : "retrieved"
    return (half, done, "\(number) version\(total == 1 ? "" : "s") \(verb)")
  }

  func opened(
    _ peer: Peer, limit: UInt64?,
    _ open: (TransferControl) throws(ControlError) -> any RemoteLayout
  ) throws(ControlError) -> Opened {
    let slot = slot(peer.name)
    if let known = slot.opened { return known }
    let progress = PeerProgress(peer.name) { [served, show = context.progress] in
      if served.withLock({ $0.first ?? peer.name }) == peer.name { show($0) }
    }
    let transfer = TransferControl(
      bytesPerSecond: limit, isStopped: context.isCancelled,
      moved: { progress.moved(sent: $0, received: $1) })
    let made = Opened(
      layout: try open(transfer),
      control: ExchangeControl(
        isCancelled: context.isCancelled, progress: { progress.reached($0) }),
      progress: progress)
    slot.opened = made
    return made
  }
}
