import Documents
package import Grammar
package import LLVSCore
package import LLVSExchange
package import ObjectStores
import Platform

/// Everything needed to open a peer, except its address.
package struct PeerOpening: Sendable {
  package var name: String
  package var store: Store
  /// Stops the requests, limits their speed and counts their bytes.
  package var transfer: TransferControl
  /// True for a peer that may have nothing: its folder on a server may have to be made.
  package var isNew = false
  /// The known states of the store's documents.
  package var documents = DocumentMemory()

  package init(name: String, store: Store, transfer: TransferControl) {
    self.name = name
    self.store = store
    self.transfer = transfer
  }
}

package struct PeerOpener: Sendable {
  package typealias Failure = ControlError
  package var open: @Sendable (PeerAddress, PeerOpening) throws(Failure) -> any RemoteLayout
  /// Notes in a store what is known of a new peer's place without a look at it.
  package var noteNew: @Sendable (PeerAddress, Store) -> Void = { _, _ in }

  package init(
    _ open: @escaping @Sendable (PeerAddress, PeerOpening) throws(Failure) -> any RemoteLayout
  ) { self.open = open }

  /// Opens a directory with a store as a store, and every other place in its layouts; empty places get bundles,
  /// unless the address asks for the original's files.
  package static let standard = PeerOpener { (address, opening) throws(ControlError) in
    if let path = address.directoryPath { try refuseForeign(path, opening.store) }
    let remote: RemoteAddress
    switch address {
    case .remote(let place): remote = place
    case .document(let place):
      try refuseInsideStore(FileSystem.directory(of: place.path), opening.store)
      try refuseOverlap(place, opening.store)
      return DocumentPeer(
        address: place, authorName: name(in: opening.store), memory: opening.documents)
    }
    if case .directory(let path, let form) = remote {
      if let store = try storePeer(path, form, opening) { return store }
    }
    return try translating {
      let options = try options(of: remote, opening)
      return try asking { () throws(RemoteError) in try layout(of: remote, opening, options) }
    }
  }

  /// Throws if the store belongs to another user, who may not reach that directory.
  private static func refuseForeign(_ path: String, _ store: Store) throws(ControlError) {
    let trust: OwnerTrust
    do throws(StoreError) { trust = try store.ownerTrust() } catch { throw ControlError(error) }
    guard !trust.isOwn else { return }
    throw ControlError(.notPermitted, trust.refusal(of: "the directory \(path)"))
  }

  private static func layout(
    of address: RemoteAddress, _ opening: PeerOpening, _ options: BundleRemote.Options
  ) throws(RemoteError) -> any RemoteLayout {
    let objects = try connector(address, opening).open()
    if opening.isNew { try makeFolder(of: address, objects) }
    let files = FileLayout(objects, place: options.place, transfer: opening.transfer)
    let bundles = BundleRemote(objects, options)
    // There, unencrypted bundles are neither read nor written.
    if options.keys != nil { return bundles }
    if case .directory(_, let form) = address {
      let hasFiles = form == .files ? true : try holds(ExchangeFolders.versions, objects)
      guard hasFiles else { return bundles }
      let hasBundles = form == .bundles ? true : try holds(ExchangeFolders.bundles, objects)
      return hasBundles ? SeveralLayouts([bundles, files]) : files
    }
    let sight = LayoutProbe(of: options.place, opening.store)
    if !opening.isNew, sight.isFresh { return bundles }
    guard try holds(ExchangeFolders.versions, objects) else {
      sight.noteNone()
      return bundles
    }
    return try holds(ExchangeFolders.bundles, objects) ? SeveralLayouts([bundles, files]) : files
  }

  private static func options(
    of address: RemoteAddress, _ opening: PeerOpening
  ) throws(StoreError) -> BundleRemote.Options {
    let settings = PeerSettings(of: opening.name, stored: try opening.store.state().settings)
    let place = place(of: address)
    let isDirectory = if case .directory = address { true } else { false }
    var options = BundleRemote.Options(place: place, isDirectory: isDirectory)
    options.peer = opening.name
    options.removes = settings.removes
    options.adopted = settings.adopted
    if settings.encrypts {
      let keys = try KeyRing.held(peer: opening.name, place: place, store: opening.store)
      guard !keys.keys.isEmpty else {
        throw .denied(
          "everything at this peer is to be encrypted, and this store holds no key of it: "
            + "\"llvs key open \(opening.name)\" asks for its passphrase")
      }
      options.keys = keys
    }
    return options
  }

  /// Makes the folder of an address at a WebDAV server, and those above it, if missing.
  static func makeFolder(
    of address: RemoteAddress, _ objects: any ObjectStore
  ) throws(RemoteError) {
    guard case .webDAV = address, let top = ObjectPrefix(folder: "") else { return }
    do throws(RemoteError) {
      _ = try objects.list(top, after: nil, page: nil)
    } catch {
      guard error.kind == .noPlace || error.kind == .absent else { throw error }
      try objects.prepare([])
    }
  }

  /// The note of a store that a peer's directory is a mount point.
  package static func mountNote(_ path: String) -> String { "peer.mounted \(path)" }

  /// The one name of a place, for all spellings of its address.
  static func place(of address: RemoteAddress) -> String {
    if case .directory(let path, _) = address { return path }
    return "\(address)"
  }

  static func connector(
    _ address: RemoteAddress, _ opening: PeerOpening
  ) throws(RemoteError) -> RemoteConnector {
    RemoteConnector(
      address,
      credentials: CredentialSources(
        peer: opening.name, secrets: opening.store.secretsDirectory,
        trust: try trust(in: opening.store)),
      control: opening.transfer, scratch: FileLayout.scratch(of: opening.store))
  }

  private static func trust(in store: Store) throws(RemoteError) -> OwnerTrust {
    do throws(StoreError) {
      return try store.ownerTrust()
    } catch {
      throw RemoteError(.denied, "the owner of the store is unknown: \(error)")
    }
  }

  /// True if a folder of a remote contains something, or, if folders can be seen, exists.
  private static func holds(
    _ folder: String, _ objects: any ObjectStore
  ) throws(RemoteError) -> Bool {
    guard let prefix = ObjectPrefix(folder: folder), let top = ObjectPrefix(folder: "") else {
      return false
    }
    if objects.capabilities.contains(.isNear) {
      return try objects.list(top, after: nil, page: nil).folders.contains { $0.text == folder }
    }
    return try !objects.list(prefix, after: nil, page: nil).objects.isEmpty
  }

  /// Throws for a store, and a folder inside one, if the peer is to be encrypted.
  static func refuseStore(_ address: RemoteAddress, _ opening: PeerOpening) throws(ControlError) {
    guard case .directory(let path, _) = address else { return }
    guard try !existing(path) else {
      throw ControlError(.grammar, "\(path) is a store, and nothing in it can be encrypted")
    }
    try refuseInsideStore(path, opening.store)
  }

  /// Throws if the document's directory contains, or is in, another document's: a value would be two.
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

  /// This store's name in a document's list of authors.
  private static func name(in store: Store) -> String {
    var faults: [String] = []
    guard let settings = try? StoreSettings(of: store, faults: &faults) else {
      return SystemProcess.hostName
    }
    return settings.maker.name ?? SystemProcess.hostName
  }

  private static func storePeer(
    _ path: String, _ form: DirectoryForm, _ opening: PeerOpening
  ) throws(ControlError) -> StorePeer? {
    guard try existing(path) else {
      try refuseInsideStore(path, opening.store)
      return nil
    }
    guard try !isEncrypted(opening) else {
      throw ControlError(.grammar, "\(path) is a store, and nothing in it can be encrypted")
    }
    guard form == .any else {
      throw ControlError(.grammar, "\(path) is a store, and takes no \(form.rawValue)")
    }
    guard try !isSame(path, opening.store.path) else {
      throw ControlError(.grammar, "\(path) is this store itself")
    }
    return StorePeer(path: path)
  }

  private static func isEncrypted(_ opening: PeerOpening) throws(ControlError) -> Bool {
    try translating {
      PeerSettings(of: opening.name, stored: try opening.store.state().settings).encrypts
    }
  }

  private static func existing(_ path: String) throws(ControlError) -> Bool {
    try reaching(path) { () throws(SystemError) in
      _ = try FileSystem.resolve(path)
      return try FileSystem.exists("\(path)/store.sqlite")
    }
  }

  private static func isSame(_ path: String, _ other: String) throws(ControlError) -> Bool {
    try reaching(path) { () throws(SystemError) in
      let (a, b) = (try FileSystem.status(path), try FileSystem.status(other))
      return a.device == b.device && a.inode == b.inode
    }
  }

  /// Throws for a folder inside a store's directory. A folder that contains stores is allowed.
  private static func refuseInsideStore(_ path: String, _ store: Store) throws(ControlError) {
    var above = try reaching(path) { () throws(SystemError) in try FileSystem.resolve(path) }
    while above != "/" {
      above = FileSystem.directory(of: above)
      // If this user may not search a directory, it cannot contain this user's store either.
      guard (try? FileSystem.exists("\(above)/store.sqlite")) == true else { continue }
      let which = try isSame(above, store.path) ? "this store" : "the store \(above)"
      throw ControlError(
        .grammar, "\(path) is inside \(which); a peer needs a folder outside of stores")
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

/// Another local store. A send makes it retrieve, and waits until no other process writes it.
struct StorePeer: RemoteLayout {
  let path: String

  func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline { try store.outline(of: source(control), control: control) }

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try store.retrieve(from: source(control), control: control)
  }

  func verify(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try store.check(source(control), control: control)
  }

  func bytes(
    of values: [LackedValue], for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> [Digest: [UInt8]] {
    let other = try Store.open(path: path, mode: .reader)
    var found: [Digest: [UInt8]] = [:]
    for value in values {
      guard let id = try store.version(value.version)?.id, let record = try other.version(id),
        let entry = try other.map(of: record).entry(at: value.key),
        entry.stored.digest == value.digest
      else { continue }
      do throws(StoreError) {
        found[value.digest] = try other.contents.bytes(
          entry.stored, atMost: UInt64(LackedBytes.limit))
      } catch {
        // The other store has forgotten it too, or has lost it.
        guard error.isForgotten || error.isDamage else { throw error }
      }
    }
    return found
  }

  private func source(_ control: ExchangeControl) throws(StoreError) -> StoreSource {
    StoreSource(try Store.open(path: path, mode: .reader), control: control)
  }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    let other = try Store.open(path: path, mode: .writer)
    var report = try other.retrieve(
      from: StoreSource(store, control: control), control: control)
    report.mayBeDamaged = true
    report.sent = report.taken
    report.taken = []
    return report
  }
}
