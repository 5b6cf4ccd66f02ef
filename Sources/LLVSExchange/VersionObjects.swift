package import LLVSCore
package import ObjectStores
internal import Synchronization

/// A remote in the original's format: the objects `versions/ID` and `changes/ID`.
///
/// INVARIANT R1: a version's object appears only after its changes are there, whole and durable; both appear
///   under their names at once, since older programs read every name in the two folders.
/// INVARIANT R2: an existing object of a version is never written again; changes without a version, which
///   no reader uses, are replaced.
package final class VersionObjects: WireRemote {
  private let objects: any ObjectStore
  private let transfer: TransferControl
  private let scratch: String
  private let temporary: String
  private let isNear: Bool
  // Held while the remote is prepared, once for each send; otherwise for memory access only.
  private let staging = Mutex<(any ObjectStaging)?>(nil)

  /// Objects up to this many bytes are read when they are opened.
  private static let readAhead: UInt64 = 65_536
  private static let piece: UInt64 = 1 << 20
  private static let mostVersions = 1 << 22

  /// Reads and writes a remote for a store, in whose directory long files wait that are on their way.
  ///
  /// - Parameters:
  ///   - objects: the remote.
  ///   - store: distinguishes what is not whole yet from that of other stores.
  ///   - transfer: the control that the remote was opened with.
  package convenience init(
    _ objects: any ObjectStore, for store: Store, transfer: TransferControl
  ) {
    self.init(
      objects, scratch: FileLayout.scratch(of: store), temporary: store.path, transfer: transfer)
  }

  /// Reads and writes a directory; `replica` distinguishes what is not whole yet from that of others.
  package convenience init(
    directory path: String, replica: String, control: ExchangeControl = ExchangeControl()
  ) {
    let (transfer, scratch) = (control.transfer, FileLayout.scratch(of: replica))
    self.init(
      DirectoryStore(path: path, scratch: scratch, control: transfer), scratch: scratch,
      temporary: path, transfer: transfer)
  }

  private init(
    _ objects: any ObjectStore, scratch: String, temporary: String, transfer: TransferControl
  ) {
    self.objects = objects
    self.transfer = transfer
    self.scratch = scratch
    self.temporary = temporary
    isNear = objects.capabilities.contains(.isNear)
  }

  /// Servers answer several requests at a time; a directory gains nothing by that.
  package var requests: Int { isNear ? 1 : 8 }

  /// The ids of the versions, in no order.
  package func versionIDs() throws(StoreError) -> [Version.ID] { try ids(.version) }

  /// Returns the versions with changes but without a description: a send was interrupted, or the
  /// other object was removed.
  func idsOfChangesAlone() throws(StoreError) -> [Version.ID] {
    let whole = Set(try ids(.version))
    return try ids(.changes).filter { !whole.contains($0) }.sorted()
  }

  private func ids(_ kind: WireKind) throws(StoreError) -> [Version.ID] {
    guard let prefix = ObjectPrefix(folder: kind.rawValue) else { return [] }
    var ids: [Version.ID] = []
    try asking { () throws(RemoteError) in
      var next: ListPage.Next?
      repeat {
        let page = try objects.list(prefix, after: nil, page: next)
        // A link among the versions is refused by name when it is opened.
        ids += (page.objects.map(\.name) + page.others).compactMap { Self.id($0.last) }
        guard page.next == nil || page.next != next, ids.count <= Self.mostVersions else {
          throw RemoteError(.malformed, "the list of \(prefix) has no end")
        }
        next = page.next
      } while next != nil
    }
    return ids
  }

  /// Returns the version whose object is called so; nil for other files.
  private static func id(_ name: String) -> Version.ID? {
    guard !isTemporary(name) else { return nil }
    let id = Version.ID(name)
    return WireName.fault(of: id) == nil ? id : nil
  }

  /// Returns true for names that programs which synchronise folders use while they write.
  private static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(".") || name.hasPrefix("~") || name.hasSuffix(".tmp")
      || name.hasSuffix(".part") || name.hasSuffix(".partial")
  }

  // MARK: Reading

  /// Opens a version's object of a kind; nil if it is not there.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` for a file that is not regular or may not be read,
  ///   otherwise the error of the remote.
  package func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput? {
    let name = try name(kind, id)
    var failure: StoreError?
    do throws(RemoteError) {
      return try isNear ? openNear(name) : openFar(name, &failure)
    } catch {
      if let failure { throw failure }
      switch error.kind {
      case .absent: return nil
      // A file that another user made unreadable does not stop the retrieval of the others.
      case .denied where isNear: throw .invalid("\(name): \(error.words)")
      default: throw StoreError(error)
      }
    }
  }

  private func name(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> ObjectName {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    guard let name = ObjectName("\(kind.rawValue)/\(id.rawValue)") else {
      throw .invalid("the version id \(id.rawValue) cannot be the name of an object")
    }
    return name
  }

  /// Opens a file: its first bytes are read, and the others when they are asked for.
  private func openNear(_ name: ObjectName) throws(RemoteError) -> WireInput {
    // Reading one byte more than that shows whether it is the whole.
    let start = try objects.bytes(
      of: name, range: 0..<(Self.readAhead + 1), atMost: Int(Self.readAhead) + 1)
    guard start.count > Self.readAhead else { return WireInput(name: name.text, bytes: start) }
    var piece = start[...]
    var offset = UInt64(start.count)
    return WireInput(name: name.text) { [objects] (out) throws(StoreError) in
      if piece.isEmpty {
        let (from, count) = (offset, Self.piece)
        piece = try asking { () throws(RemoteError) in
          try objects.bytes(of: name, range: from..<(from + count), atMost: Int(count))
        }[...]
        offset += UInt64(piece.count)
      }
      let count = min(out.count, piece.count)
      piece.withUnsafeBytes {
        out.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
      }
      piece.removeFirst(count)
      return count
    }
  }

  /// Fetches an object by one request, before anything is stored, so that no writer waits for the network.
  ///
  /// - Throws: the error of the remote; an error of this store is in `failure`.
  private func openFar(
    _ name: ObjectName, _ failure: inout StoreError?
  ) throws(RemoteError) -> WireInput {
    let spool = Spool(directory: temporary, memoryLimit: Int(Self.piece))
    var fault: StoreError?
    try objects.get(name, range: nil) { (piece) throws(RemoteError) in
      do throws(StoreError) {
        try spool.append(piece)
        return true
      } catch {
        fault = error
        return false
      }
    }
    do throws(StoreError) {
      if let fault { throw fault }
      let (bytes, file, length) = try spool.drain()
      guard let file else { return WireInput(name: name.text, bytes: bytes) }
      return WireInput(name: name.text, FileSource(file, length: length))
    } catch {
      failure = error
      throw .cancelled
    }
  }

  // MARK: Writing

  private func prepare() throws(StoreError) -> any ObjectStaging {
    let outcome = staging.withLock { staging in
      Result<any ObjectStaging, StoreError> { () throws(StoreError) in
        if let staging { return staging }
        let made = try asking { () throws(RemoteError) in
          try objects.staging(
            scratch: scratch, temporary: temporary, folders: WireKind.allCases.map(\.rawValue),
            control: transfer)
        }
        staging = made
        return made
      }
    }
    return try outcome.get()
  }

  /// Writes a version's object of a kind that no reader sees before ``publish(_:)``.
  package func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError) {
    let staging = try prepare()
    let name = try name(kind, id)
    let object = try asking { () throws(RemoteError) in try staging.begin(name) }
    let checkSpace = { (length: UInt64) throws(StoreError) in
      try asking { () throws(RemoteError) in try object.checkRoom(for: length) }
    }
    let output = WireOutput(checkSpace: checkSpace) { (bytes) throws(StoreError) in
      try asking { () throws(RemoteError) in try object.append(bytes) }
    }
    try body(output)
    try output.flush()
    try asking { () throws(RemoteError) in try object.finish() }
  }

  /// Makes versions whose objects are written visible, durably: all changes first, then the
  /// descriptions.
  package func publish(_ ids: [Version.ID]) throws(StoreError) {
    guard !ids.isEmpty else { return }
    let staging = try prepare()
    for kind in [WireKind.changes, .version] {
      var names: [ObjectName] = []
      for id in ids { names.append(try name(kind, id)) }
      try asking { () throws(RemoteError) in
        try staging.publish(names, replacing: kind == .changes)
      }
    }
  }

  /// Removes what was written and not published.
  package func abandon() {
    let staging = staging.withLock { staging in
      defer { staging = nil }
      return staging
    }
    staging?.abandon()
  }
}

extension WireInput {
  convenience init(name: String, _ source: FileSource) {
    var offset: UInt64 = 0
    self.init(name: name) { (out) throws(StoreError) in
      let count = Int(min(UInt64(out.count), source.length - offset))
      try source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: out[..<count]))
      offset += UInt64(count)
      return count
    }
  }
}
