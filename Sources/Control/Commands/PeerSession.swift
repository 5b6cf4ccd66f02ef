import Grammar
import LLVSCore
import LLVSExchange
import ObjectStores

/// The peers of one command; each is opened once.
/// - Concurrency: for the command's thread.
final class PeerSession {
  struct Opened {
    let layout: any RemoteLayout
    let control: ExchangeControl
    let progress: PeerProgress
  }

  let context: CommandContext
  private var peers: [String: Opened] = [:]
  private var halves: [String: ExchangeHalf] = [:]
  private let named: Set<String>
  private var answered: Set<String> = []

  init(_ context: CommandContext, named: [String] = []) {
    self.context = context
    self.named = Set(named)
  }

  func isNamed(_ name: String) -> Bool { named.contains(name) }
  func hasAnswered(_ name: String) -> Bool { answered.contains(name) }
  func noteAnswer(of peer: Peer) { answered.insert(peer.name) }
  func begin(_ half: ExchangeHalf, with peer: Peer) { halves[peer.name] = half }

  /// Returns the progress of the current half of an exchange: its versions, as a number and in words.
  func reached(_ peer: Peer) -> (half: ExchangeHalf?, count: Int, text: String) {
    guard let half = halves[peer.name] else { return (nil, 0, "") }
    let step = peers[peer.name]?.progress.step
    let counts = step?.phase == (half == .send ? .sending : .storing)
    let done = counts ? step?.done ?? 0 : 0
    let of = counts ? step.map { " of \($0.total)" } ?? "" : ""
    let number = done == 0 && !counts ? "no" : "\(done)\(of)"
    let verb = half == .send ? "sent" : "retrieved"
    return (half, done, "\(number) version\(step?.total == 1 ? "" : "s") \(verb)")
  }

  func opened(
    _ peer: Peer, limit: UInt64?,
    _ open: (TransferControl) throws(ControlError) -> any RemoteLayout
  ) throws(ControlError) -> Opened {
    if let known = peers[peer.name] { return known }
    let progress = PeerProgress(peer.name, context.progress)
    let transfer = TransferControl(
      bytesPerSecond: limit, isStopped: context.isCancelled,
      moved: { progress.moved(sent: $0, received: $1) })
    let made = Opened(
      layout: try open(transfer),
      control: ExchangeControl(
        isCancelled: context.isCancelled, progress: { progress.reached($0) }),
      progress: progress)
    peers[peer.name] = made
    return made
  }
}
