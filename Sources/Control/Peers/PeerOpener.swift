import Documents
package import Grammar
package import LLVSCore
package import LLVSExchange
import Platform

/// A folder with files in the format of the original LLVS, with bundles, or with both. With both,
/// each gets all versions, so that programs which read only one of the formats find everything.
struct FolderPeer: RemoteLayout {
  let path: String
  let hasFiles: Bool
  let hasBundles: Bool

  func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    var outline = PlaceOutline()
    if hasFiles {
      outline = try FileSystemExchange(existingFolder: path, store: store).outline(control: control)
    }
    if hasBundles, !outline.isShared {
      outline.add(try BundleExchange(existingFolder: path, store: store).outline(control: control))
    }
    return outline
  }

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    if hasBundles {
      report.add(
        try BundleExchange(existingFolder: path, store: store).retrieve(control: control))
    }
    if hasFiles {
      report.add(
        try FileSystemExchange(existingFolder: path, store: store).retrieve(control: control))
    }
    return report
  }

  func verify(
    into copy: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    if hasBundles {
      report.add(try BundleExchange(existingFolder: path, store: copy).readAll(control: control))
    }
    if hasFiles {
      report.add(
        try FileSystemExchange(existingFolder: path, store: copy).readAll(control: control))
    }
    return report
  }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    if hasBundles {
      report.add(try BundleExchange(existingFolder: path, store: store).send(control: control))
    }
    if hasFiles {
      report.add(try FileSystemExchange(existingFolder: path, store: store).send(control: control))
    }
    return report
  }
}

/// Another store on this machine. A send makes that store retrieve, so it waits until no other
/// process has it open for writing.
struct StorePeer: RemoteLayout {
  let path: String

  func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    let other = try Store.open(path: path, mode: .reader)
    return try StoreRemote(other, scratchDirectory: store.path, control: control)
      .outline(for: store)
  }

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

/// Opens peers.
package struct PeerOpener: Sendable {
  /// The reason why a peer cannot be opened.
  package typealias Failure = ControlError

  /// Opens the peer with an address, for exchanges with a store.
  package var open: @Sendable (PeerAddress, Store) throws(Failure) -> any RemoteLayout

  /// Creates an opener.
  package init(
    _ open: @escaping @Sendable (PeerAddress, Store) throws(Failure) -> any RemoteLayout
  ) {
    self.open = open
  }

  /// Opens directories: as a store if they hold one, otherwise as a folder in the formats that it
  /// holds. A folder that holds neither gets the format of the original LLVS, unless its address
  /// says bundles.
  package static let standard = PeerOpener { (address, store) throws(ControlError) in
    switch address {
    case .directory(let path):
      let isStore = try existing(path)
      guard isStore else {
        try refuseInsideStore(path, store)
        let hasBundles = try holds("bundles", path)
        let hasFiles = try holds("versions", path)
        return FolderPeer(
          path: path, hasFiles: hasFiles || !hasBundles, hasBundles: hasBundles)
      }
      guard try !isSame(path, store.path) else {
        throw ControlError(.grammar, "\(path) is this store itself")
      }
      return StorePeer(path: path)
    case .bundles(let path):
      guard try !existing(path) else {
        throw ControlError(.grammar, "\(path) is a store, not a folder of bundles")
      }
      try refuseInsideStore(path, store)
      return FolderPeer(path: path, hasFiles: try holds("versions", path), hasBundles: true)
    case .document(let place):
      try refuseInsideStore(address.path, store)
      try refuseOverlap(place, store)
      return DocumentPeer(address: place, authorName: name(in: store))
    }
  }

  /// Refuses a document whose directory contains, or is in, another document's: a value would be two.
  private static func refuseOverlap(
    _ address: DocumentAddress, _ store: Store
  ) throws(ControlError) {
    let others: [Peer]
    do throws(StoreError) { others = try store.peers() } catch { throw ControlError(error) }
    for peer in others {
      guard case .document(let other)? = try? PeerAddress(peer.address),
        other.directory != address.directory, other.directory.overlaps(address.directory)
      else { continue }
      throw ControlError(
        .grammar,
        "the directories of \(address.name) and of the peer \(peer.name) contain each other")
    }
  }

  /// The name that a document's list of authors has for this store.
  private static func name(in store: Store) -> String {
    var faults: [String] = []
    guard let settings = try? StoreSettings(of: store, faults: &faults) else {
      return SystemProcess.hostName
    }
    return settings.maker.name ?? SystemProcess.hostName
  }

  private static func holds(_ name: String, _ path: String) throws(ControlError) -> Bool {
    try reaching(path) { () throws(SystemError) in try FileSystem.exists("\(path)/\(name)") }
  }

  /// True if the directory at a path is a store.
  private static func existing(_ path: String) throws(ControlError) -> Bool {
    try reaching(path) { () throws(SystemError) in
      _ = try FileSystem.resolve(path)
      return try FileSystem.exists("\(path)/store.sqlite")
    }
  }

  /// True if two paths lead to the same directory, whatever links and bind mounts are on the way.
  private static func isSame(_ path: String, _ other: String) throws(ControlError) -> Bool {
    try reaching(path) { () throws(SystemError) in
      let (a, b) = (try FileSystem.status(path), try FileSystem.status(other))
      return a.device == b.device && a.inode == b.inode
    }
  }

  /// Refuses a folder inside a store's directory.
  ///
  /// A folder that contains stores is allowed.
  private static func refuseInsideStore(_ path: String, _ store: Store) throws(ControlError) {
    var above = try reaching(path) { () throws(SystemError) in try FileSystem.resolve(path) }
    while above != "/" {
      above = FileSystem.directory(of: above)
      // If this user may not search a directory, it cannot hold a store of this user either.
      guard (try? FileSystem.exists("\(above)/store.sqlite")) == true else { continue }
      let which = try isSame(above, store.path) ? "this store" : "the store \(above)"
      throw ControlError(
        .grammar, "\(path) is inside \(which); a peer's folder stands beside stores")
    }
  }

  private static func reaching<R>(
    _ path: String, _ body: () throws(SystemError) -> R
  ) throws(ControlError) -> R {
    do throws(SystemError) {
      return try body()
    } catch {
      if error.errno == Errno.noEntry { throw ControlError(.unreachable, "\(path) is not there") }
      throw ControlError(.unreachable, error.description)
    }
  }
}
