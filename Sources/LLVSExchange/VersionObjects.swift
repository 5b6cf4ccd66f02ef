package import LLVSCore
package import ObjectStores
internal import Synchronization

/// A remote in the original's format: the objects `versions/ID` and `changes/ID`.
///
/// INVARIANT R1: a version's object appears only after its changes are there, whole and durable; both appear
///   under their names at once, since older programs read every name in the two folders.
/// INVARIANT R2: an existing object of a version is written again only if it was found damaged; changes without
///   a version, which no reader uses, are replaced.
package final class VersionObjects: VersionSource {
  private let objects: any ObjectStore
  private let transfer: TransferControl
  private let scratch: String
  private let temporary: String
  private let isNear: Bool
  /// The versions whose objects were found damaged, or are listed shorter than any can be: they do not count as there, and are replaced.
  var damaged: Set<Version.ID> {
    get { found.withLock { $0 } }
    set { found.withLock { $0 = newValue } }
  }
  private let found = Mutex<Set<Version.ID>>([])
  /// The listed lengths of objects, and of those that were written since.
  private let lengths = Mutex<[WireKind: [ObjectName: UInt64]]>([:])
  // Held while the remote is prepared, once for each send; otherwise for memory access only.
  private let staging = Mutex<(any ObjectStaging)?>(nil)
  private static let readAhead: UInt64 = 65_536
  private static let piece: UInt64 = 1 << 20
  private static let mostVersions = 1 << 22
  /// The length of the ids that LLVS makes.
  private static let uuidLength = 36

  /// Uses a remote for a store, in whose directory long files wait; `transfer` is the remote's control.
  package convenience init(
    _ objects: any ObjectStore, for store: Store, transfer: TransferControl
  ) {
    self.init(
      objects, scratch: FileLayout.scratch(of: store), temporary: store.path, transfer: transfer)
  }

  /// Uses a directory; `replica` tells its unfinished objects from those of others.
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

  package var requests: Int { isNear ? 1 : 8 }
  package func versionIDs() throws(StoreError) -> [Version.ID] { try ids(.version) }

  /// Returns the versions with both objects, neither found damaged.
  func wholeIDs() throws(StoreError) -> [Version.ID] {
    let (changes, versions) = (Set(try ids(.changes)), try ids(.version))
    let damaged = damaged
    return versions.filter { changes.contains($0) && !damaged.contains($0) }
  }

  /// Returns a word for the lengths of both files of a version, listed or written; nil if a file is not known.
  func lengths(of id: Version.ID) throws(StoreError) -> UInt32? {
    let (changes, version) = (try name(.changes, id), try name(.version, id))
    return lengths.withLock { lengths in
      guard let changes = lengths[.changes]?[changes], let version = lengths[.version]?[version]
      else { return nil }
      return FileLengths.word(changes: changes, version: version)
    }
  }

  /// Returns the versions with changes and no description, which an interrupted send leaves.
  func idsOfChangesAlone() throws(StoreError) -> [Version.ID] {
    let whole = Set(try ids(.version))
    return try ids(.changes).filter { !whole.contains($0) }.sorted()
  }

  private func ids(_ kind: WireKind) throws(StoreError) -> [Version.ID] {
    guard let prefix = ObjectPrefix(folder: kind.rawValue) else { return [] }
    var ids: [Version.ID] = []
    var listed: [ObjectName: UInt64] = [:]
    var cut: Set<Version.ID> = []
    try asking { () throws(RemoteError) in
      var next: ListPage.Next?
      repeat {
        let page = try objects.list(prefix, after: nil, page: next)
        for object in page.objects {
          listed[object.name] = object.length
          guard let id = Self.id(object.name.last) else { continue }
          // A version names its id, and changes are a list.
          let least = kind == .version ? id.rawValue.utf8.count : 2
          if object.length < least { cut.insert(id) }
        }
        // A link is refused by name when it is opened.
        ids += (page.objects.map(\.name) + page.others).compactMap { Self.id($0.last) }
        guard page.next == nil || page.next != next, ids.count <= Self.mostVersions else {
          throw RemoteError(.malformed, "the list of \(prefix) has no end")
        }
        next = page.next
      } while next != nil
    }
    lengths.withLock { [listed] in $0[kind] = listed }
    found.withLock { [cut] in $0.formUnion(cut) }
    return Self.withoutCopies(ids)
  }

  private static func id(_ name: String) -> Version.ID? {
    guard !isTemporary(name) else { return nil }
    let id = Version.ID(name)
    return WireName.fault(of: id) == nil ? id : nil
  }

  /// Leaves out conflict copies and duplicates of listed files, as synchronisers and file managers name them:
  /// `ID (conflicted copy 2026-11-20)`, `ID.sync-conflict-20261120`, `ID-MACHINE`, `ID 2`, `Copy of ID`.
  private static func withoutCopies(_ ids: [Version.ID]) -> [Version.ID] {
    let known = Set(ids.lazy.map(\.rawValue).filter { $0.utf8.count == uuidLength }.map { $0[...] })
    return ids.filter { id in
      let name = id.rawValue
      guard name.utf8.count > uuidLength else { return true }
      let start = name.prefix(uuidLength)
      if known.contains(start), " .~-".contains(name[start.endIndex]) { return false }
      let end = name.suffix(uuidLength)
      return !(known.contains(end) && name[..<end.startIndex].last == " ")
    }
  }

  /// Returns true for files that folder synchronisers make while they write, and those of file managers.
  private static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(".") || name.hasPrefix("~") || name.hasSuffix(".tmp")
      || name.hasSuffix(".part") || name.hasSuffix(".partial") || name.hasSuffix("~")
      || name == "desktop.ini" || name == "Thumbs.db"
  }

  /// Opens a version's object of a kind; nil if it is not there.
  /// - Throws: ``StoreError/invalid(_:)`` for a file that is not regular or readable, or an error of the remote.
  package func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput? {
    let name = try name(kind, id)
    var failure: StoreError?
    do throws(RemoteError) {
      return try isNear ? openNear(name) : openFar(name, of: kind, &failure)
    } catch {
      if let failure { throw failure }
      switch error.kind {
      case .absent:
        guard try asking({ () throws(RemoteError) in try objects.lists(absent: name) }) else {
          return nil
        }
        throw .invalid("\(name): the server lists it and does not give it")
      // A file that another user made unreadable does not stop the retrieval.
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

  /// Opens a file. A long file is read as it is used.
  private func openNear(_ name: ObjectName) throws(RemoteError) -> WireInput {
    // One byte more shows whether it is the whole.
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
      piece.withUnsafeBytes { out.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      piece.removeFirst(count)
      return count
    }
  }

  /// Fetches an object whole, so that no writer waits for the network; nil if no list has it.
  /// - Throws: the error of the remote; an error of this store is in `failure`.
  private func openFar(
    _ name: ObjectName, of kind: WireKind, _ failure: inout StoreError?
  ) throws(RemoteError) -> WireInput? {
    var fault: StoreError?
    let bound: UInt64?
    do throws(StoreError) {
      bound = try length(of: name, kind)
    } catch {
      failure = error
      throw .cancelled
    }
    guard let bound else { return nil }
    let spool = Spool(directory: temporary, memoryLimit: Int(Self.piece))
    try objects.get(name, range: nil) { (piece) throws(RemoteError) in
      do throws(StoreError) {
        guard UInt64(piece.count) <= bound - spool.length else {
          throw .invalid("\(name): it is longer than the \(bound) bytes that the server lists")
        }
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

  /// The listed length of an object of a server, which lists a kind once if nothing has listed it.
  private func length(of name: ObjectName, _ kind: WireKind) throws(StoreError) -> UInt64? {
    if let listed = lengths.withLock({ $0[kind] }) { return listed[name] }
    _ = try ids(kind)
    return lengths.withLock { $0[kind]?[name] }
  }

  private func prepare() throws(StoreError) -> any ObjectStaging {
    try staging.withLock { (staging) throws(StoreError) in
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

  package func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError) {
    let staging = try prepare()
    let name = try name(kind, id)
    let object = try asking { () throws(RemoteError) in try staging.begin(name) }
    let checkSpace = { (length: UInt64) throws(StoreError) in
      try asking { () throws(RemoteError) in try object.checkRoom(for: length) }
    }
    var length: UInt64 = 0
    let output = WireOutput(checkSpace: checkSpace) { (bytes) throws(StoreError) in
      try asking { () throws(RemoteError) in try object.append(bytes) }
      length += UInt64(bytes.count)
    }
    try body(output)
    try output.flush()
    try asking { () throws(RemoteError) in try object.finish() }
    lengths.withLock { [length] in $0[kind, default: [:]][name] = length }
  }

  /// Makes versions visible, durably: all changes first, then the descriptions.
  package func publish(_ ids: [Version.ID]) throws(StoreError) {
    guard !ids.isEmpty else { return }
    let staging = try prepare()
    for id in ids where damaged.contains(id) { try remove(id) }
    for kind in [WireKind.changes, .version] {
      var names: [ObjectName] = []
      for id in ids { names.append(try name(kind, id)) }
      try asking { () throws(RemoteError) in
        try staging.publish(names, replacing: kind == .changes)
      }
    }
  }

  /// Removes a damaged version, whose changes go last.
  private func remove(_ id: Version.ID) throws(StoreError) {
    for kind in [WireKind.version, .changes] {
      let name = try name(kind, id)
      try asking { () throws(RemoteError) in try objects.delete(name) }
    }
  }

  /// Removes unpublished objects.
  package func abandon() {
    let staging = staging.withLock { staging in
      defer { staging = nil }
      return staging
    }
    staging?.abandon()
  }

  /// - Throws: ``StoreError/invalid(_:)`` if the description is malformed or has another id.
  package func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let input = try open(.version, id) else { return nil }
    let version = try Version(reading: input)
    guard version.id == id else {
      throw .invalid("\(input.name): it holds the version \(version.id.rawValue)")
    }
    return version
  }

  package func changes(of id: Version.ID) throws(StoreError) -> WireInput? {
    try open(.changes, id)
  }

  package func label(_ id: Version.ID) -> String { "versions/\(id.rawValue)" }
  package func changesLabel(_ id: Version.ID) -> String { "changes/\(id.rawValue)" }
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
