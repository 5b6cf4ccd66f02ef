import Grammar
import LLVSCore
import LLVSExchange
import ObjectStores

/// The peers that one command has opened: each is opened once, for all that the command does with it.
///
/// - Concurrency: for the command's thread.
final class PeerSession {
  /// A peer that is open.
  struct Opened {
    let layout: any RemoteLayout
    let control: ExchangeControl
    let progress: PeerProgress
  }

  let context: CommandContext
  private var peers: [String: Opened] = [:]

  init(_ context: CommandContext) { self.context = context }

  /// Returns a peer, opened with `open` unless it is open.
  func opened(
    _ peer: Peer, _ open: (TransferControl) throws(ControlError) -> any RemoteLayout
  ) throws(ControlError) -> Opened {
    if let known = peers[peer.name] { return known }
    let progress = PeerProgress(peer.name, context.progress)
    let transfer = TransferControl(
      isStopped: context.isCancelled, moved: { progress.moved(sent: $0, received: $1) })
    let made = Opened(
      layout: try open(transfer),
      control: ExchangeControl(
        isCancelled: context.isCancelled, progress: { progress.reached($0) }),
      progress: progress)
    peers[peer.name] = made
    return made
  }
}
