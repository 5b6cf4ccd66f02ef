package import LLVS
import Platform

/// A place that a store exchanges versions with.
///
/// - Concurrency: one exchange with a place at a time.
package protocol PeerExchanging: Sendable {
  /// Takes in what is there.
  func retrieve(into store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport

  /// Writes what is missing there; the report's `sent` names it.
  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport
}

/// A folder in the original's format.
struct FolderPeer: PeerExchanging {
  let path: String

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let remote = FolderRemote(path: path, replica: store.replicaID, control: control)
    return try store.retrieve(from: remote, control: control)
  }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    let remote = FolderRemote(path: path, replica: store.replicaID, control: control)
    return try store.send(to: remote, control: control)
  }
}

/// Another store on this machine. It takes in versions by itself, so sending waits until nobody else has
/// it open for writing.
struct StorePeer: PeerExchanging {
  let path: String

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let other = try Store.open(path: path, mode: .reader)
    return try store.retrieve(
      from: StoreRemote(other, scratchDirectory: store.path, control: control), control: control)
  }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    let other = try Store.open(path: path, mode: .writer)
    var report = try other.retrieve(
      from: StoreRemote(store, scratchDirectory: other.path, control: control), control: control)
    report.sent = report.taken
    report.taken = []
    return report
  }
}

/// Finds the way to a peer.
package struct PeerOpener: Sendable {
  package var open: @Sendable (PeerAddress, Store) throws(ControlError) -> any PeerExchanging

  package init(
    _ open: @escaping @Sendable (PeerAddress, Store) throws(ControlError) -> any PeerExchanging
  ) {
    self.open = open
  }

  /// Directories: stores where they hold one, folders in the original's format otherwise.
  package static let standard = PeerOpener { (address, store) throws(ControlError) in
    switch address {
    case .directory(let path):
      let (resolved, isStore) = try existing(path)
      guard isStore else { return FolderPeer(path: path) }
      guard resolved != store.path else {
        throw ControlError(.grammar, "\(path) is this store itself")
      }
      return StorePeer(path: path)
    }
  }
  private static func existing(
    _ path: String
  ) throws(ControlError) -> (resolved: String, isStore: Bool) {
    do throws(SystemError) {
      return (try FileSystem.resolve(path), try FileSystem.exists("\(path)/store.sqlite"))
    } catch {
      if error.errno == Errno.noEntry { throw ControlError(.unreachable, "\(path) is not there") }
      throw ControlError(.unreachable, error.description)
    }
  }
}
