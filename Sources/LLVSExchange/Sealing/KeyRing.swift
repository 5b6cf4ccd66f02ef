internal import Foundation
package import LLVSCore
package import ObjectStores
internal import Platform

/// The keys of an encrypted remote: their files at the remote, and those that this store holds.
///
/// INVARIANT E2: secrets are in `STORE/secrets` alone, in files that only their owner may read, and go
///   neither to the remote nor into logs, messages or backups unless encrypted.
/// - Concurrency: for one thread at a time.
package struct KeyRing {
  private let objects: any ObjectStore
  private let path: String
  private let place: String
  private let store: Store

  /// `place` is the peer's address: keys that are held for another place do not count.
  package init(_ objects: any ObjectStore, peer: String, place: String, store: Store) {
    self.objects = objects
    self.place = place
    self.store = store
    path = Self.path(peer, store)
  }

  /// The names of peers have no colons, so no peer's credentials are there.
  private static func path(_ peer: String, _ store: Store) -> String {
    "\(store.secretsDirectory)/\(peer):keys"
  }

  /// Returns a peer's keys at a place; a key without its file there must encrypt nothing. `denied` if others may
  /// read the file, `corrupt` if it is malformed.
  package static func held(
    peer: String, place: String, store: Store
  ) throws(StoreError) -> HeldKeys {
    HeldKeys(try read(path(peer, store), place, store))
  }

  private static func read(
    _ path: String, _ place: String, _ store: Store
  ) throws(StoreError) -> [RemoteKey] {
    let trust = try store.ownerTrust()
    let text: [UInt8]
    let isReadable: Bool
    let isPrivate: Bool
    do throws(SystemError) {
      let file = try File(path, [.read, .nonBlocking, .noFollow])
      let status = try file.status()
      isPrivate = status.kind == .regular && status.mode & 0o077 == 0
      isReadable = trust.readsFile(ownedBy: status.uid)
      text = isPrivate && isReadable ? try file.read(1 << 20, at: 0) : []
    } catch {
      guard error.errno != Errno.noEntry else { return [] }
      throw .system(error)
    }
    guard isPrivate else {
      throw .denied("\(path): others than its owner may read it; \"chmod 600\" changes that")
    }
    guard isReadable else { throw .denied(trust.refusal(of: path)) }
    var keys: [RemoteKey] = []
    var lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard lines.first == "at \(place)" else { return [] }
    lines.removeFirst()
    for line in lines {
      let words = line.split(separator: " ")
      guard words.count == 2, let bytes = Digest(hex: words[0])?.bytes, let made = UInt64(words[1])
      else { throw .corrupt("\(path): a line is no key") }
      keys.append(RemoteKey(bytes, made: made))
    }
    return keys
  }

  private func hold(_ keys: [RemoteKey]) throws(StoreError) {
    let lines =
      ["at \(place)\n"]
      + HeldKeys(keys).keys.map { key in "\(Digest(bytes: key.bytes)?.hex ?? "") \(key.made)\n" }
    try write(lines, to: path)
  }

  private func write(_ lines: [String], to path: String) throws(StoreError) {
    let directory = FileSystem.directory(of: path)
    try StoreError.wrapping { () throws(SystemError) in
      if try !FileSystem.exists(directory) {
        try FileSystem.makeDirectory(directory, permissions: 0o700)
      }
      try FileSystem.replace(path, with: Array(lines.joined().utf8), permissions: 0o600)
    }
  }

  /// - Throws: as ``held(peer:place:store:)``.
  package func heldKeys() throws(StoreError) -> HeldKeys { HeldKeys(try held()) }
  private func held() throws(StoreError) -> [RemoteKey] { try KeyRing.read(path, place, store) }

  package func files() throws(StoreError) -> [KeyFileName] { try listed(areWhole: true) }

  /// Returns the key files that have the length in their name, or the others.
  private func listed(areWhole: Bool) throws(StoreError) -> [KeyFileName] {
    guard let prefix = ObjectPrefix(folder: KeyFileName.directory) else { return [] }
    let listed = try asking { () throws(RemoteError) in try objects.all(prefix, atMost: 4096) }
    return Set(
      listed.compactMap { object -> KeyFileName? in
        guard let name = KeyFileName(object.name.last),
          (object.length == UInt64(name.length)) == areWhole
        else { return nil }
        return name
      }
    ).sorted()
  }

  /// Returns the bytes of a key file; nil if it is damaged.
  private func bytes(_ name: KeyFileName) throws(StoreError) -> [UInt8]? {
    guard let object = ObjectName("\(KeyFileName.directory)/\(name.text)") else { return nil }
    let bytes = try asking { () throws(RemoteError) in
      try objects.bytes(of: object, atMost: KeyFile.length)
    }
    return name.matches(bytes) ? bytes : nil
  }

  /// A key file that this store made or opened. Only its passphrase shows which key a file holds.
  package struct KnownFile {
    let key: String
    package let name: KeyFileName
    package let bytes: [UInt8]
  }

  private var knownPath: String { "\(path).files" }

  private func known() -> [KnownFile] {
    let text = (try? FileSystem.read(knownPath, atMost: 1 << 20)) ?? []
    let lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard lines.first == "at \(place)" else { return [] }
    return lines.dropFirst().compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 3, let name = KeyFileName(words[1]),
        let bytes = Data(base64Encoded: words[2]).map(Array.init), name.matches(bytes)
      else { return nil }
      return KnownFile(key: words[0], name: name, bytes: bytes)
    }
  }

  /// Replaces the known files. An error is ignored, because without them only the repair of lost files is missing.
  private func know(_ files: [KnownFile]) {
    let lines = Set(
      files.map { "\($0.key) \($0.name.text) \(Data($0.bytes).base64EncodedString())\n" })
    try? write(["at \(place)\n"] + lines, to: knownPath)
  }

  /// Puts lost and damaged key files back if `isRestoring` and this store knows them.
  ///
  /// A held key has surely lost its files if there are fewer unknown files than keys without a known one. Known
  /// files are put back only if no file there is unknown. A file that is missing where no key is lost is forgotten,
  /// so a removed passphrase does not return.
  /// - Returns: the number of files put back, and clauses about what keeps passphrases from opening the remote.
  package func check(
    _ peer: String, isRestoring: Bool = false
  ) throws(StoreError) -> (restored: Int, faults: [String]) {
    let (files, known) = (try files(), known())
    var damaged: [KeyFileName] = []
    for name in files where try bytes(name) == nil { damaged.append(name) }
    let whole = Set(files).subtracting(damaged)
    let opened = Set(known.filter { whole.contains($0.name) }.map(\.key))
    let orphans = Set(try held().map(\.name)).subtracting(opened)
    let unknown = whole.subtracting(known.map(\.name))
    let isLost = orphans.count > unknown.count
    let isOlder = isLost && unknown.isEmpty
    let back = known.filter { isOlder ? !whole.contains($0.name) : damaged.contains($0.name) }
    if isRestoring, !isLost, known.contains(where: { !files.contains($0.name) }) {
      know(known.filter { files.contains($0.name) })
    }
    if isRestoring, !back.isEmpty {
      try put(back)
      return (back.count, try check(peer).faults)
    }
    let lost =
      whole.isEmpty
      ? "there is no whole key file, so no passphrase opens it"
      : "a key has no whole file, so no passphrase opens what it encrypts"
    let advice =
      back.isEmpty
      ? "\"llvs key add \(peer) LABEL\" makes one, on a machine that holds the key"
      : "the next send from this store puts back what it knows"
    return (
      0, damaged.map { "\($0.text): damaged" } + (isLost ? ["\(lost); \(advice)"] : [])
    )
  }

  private func put(_ files: [KnownFile]) throws(StoreError) {
    for file in files {
      guard let object = ObjectName("\(KeyFileName.directory)/\(file.name.text)") else { continue }
      try asking { () throws(RemoteError) in
        try objects.prepare([KeyFileName.directory])
        try objects.put(object, ObjectBody(file.bytes))
      }
    }
    know(known() + files)
  }

  /// Makes a new key, puts its file, and holds it with the earlier ones.
  /// - Throws: ``StoreError/invalid(_:)`` for an unusable label or passphrase, or an error of the remote.
  @discardableResult
  package func create(
    label: String, passphrase: [UInt8], strength: KeyFile.Strength = .usual
  ) throws(StoreError) -> RemoteKey {
    let key = RemoteKey.random()
    try put(try Self.made([key], label, passphrase, strength))
    try hold(try held() + [key])
    return key
  }

  /// Opens all key files that a passphrase opens, and holds their keys.
  /// - Throws: ``StoreError/denied(_:)`` with the labels if it opens none.
  package func unlock(passphrase: [UInt8]) throws(StoreError) -> HeldKeys {
    var opened: [RemoteKey] = []
    var found: [KnownFile] = []
    let names = try files()
    for name in names {
      do throws(StoreError) {
        guard let bytes = try bytes(name),
          let key = try KeyFile(bytes).key(passphrase: passphrase)
        else { continue }
        opened.append(key)
        found.append(KnownFile(key: key.name, name: name, bytes: bytes))
      } catch .invalid, .fromTheFuture {
        continue  // Another file may open.
      }
    }
    guard !opened.isEmpty else { throw try refusal(of: names) }
    let keys = HeldKeys(try held() + opened)
    try hold(keys.keys)
    know(known() + found)
    return keys
  }

  private func refusal(of names: [KeyFileName]) throws(StoreError) -> StoreError {
    var damaged = try listed(areWhole: false)
    for name in names where try bytes(name) == nil { damaged.append(name) }
    let labels = Set(Set(names).subtracting(damaged).map(\.label)).sorted()
    guard !labels.isEmpty || !damaged.isEmpty else {
      return .denied("there is no key at this remote")
    }
    var clauses: [String] = []
    if !labels.isEmpty {
      clauses.append(
        "wrong passphrase (there \(labels.count == 1 ? "is 1" : "are \(labels.count)"): "
          + "\(labels.joined(separator: ", ")))")
    }
    clauses += damaged.map { "the key file \(KeyFileName.directory)/\($0.text) is damaged" }
    if !damaged.isEmpty {
      clauses.append(
        "a sync, or \"llvs key add PEER LABEL\", on a machine that holds the key makes a whole one")
    }
    return .denied(clauses.joined(separator: "; "))
  }

  /// Puts files of all keys that are held, which another passphrase opens.
  /// - Throws: ``StoreError/denied(_:)`` if no key is held.
  package func add(
    label: String, passphrase: [UInt8], strength: KeyFile.Strength = .usual
  ) throws(StoreError) {
    try put(try made(label: label, passphrase: passphrase, strength: strength))
  }

  /// Returns files of all keys that are held, without putting them.
  /// - Throws: ``StoreError/denied(_:)`` without keys, ``StoreError/invalid(_:)`` for a bad label or passphrase.
  package func made(
    label: String, passphrase: [UInt8], strength: KeyFile.Strength = .usual
  ) throws(StoreError) -> [KnownFile] {
    let keys = HeldKeys(try held()).keys
    guard !keys.isEmpty else { throw .denied("this store holds no key of this remote") }
    return try Self.made(keys, label, passphrase, strength)
  }

  private static func made(
    _ keys: [RemoteKey], _ label: String, _ passphrase: [UInt8], _ strength: KeyFile.Strength
  ) throws(StoreError) -> [KnownFile] {
    try keys.map { (key) throws(StoreError) in
      let file = try KeyFile(key, passphrase: passphrase, strength: strength)
      guard let name = KeyFileName(label, file) else {
        throw .invalid("\"\(label)\" is no name for a key: letters, digits, dots and underscores")
      }
      return KnownFile(key: key.name, name: name, bytes: file.bytes)
    }
  }

  /// Makes a new key and puts files of all keys, which a passphrase opens, in place of the label's.
  /// - Throws: as ``add(label:passphrase:strength:)``.
  @discardableResult
  package func rotate(
    label: String, passphrase: [UInt8], strength: KeyFile.Strength = .usual
  ) throws(StoreError) -> RemoteKey {
    let old = HeldKeys(try held()).keys
    guard !old.isEmpty else { throw .denied("this store holds no key of this remote") }
    let before = try files().filter { $0.label == label }
    let key = try create(label: label, passphrase: passphrase, strength: strength)
    try put(try Self.made(old, label, passphrase, strength))
    // Each label has a file for each key that its maker held: with more, one may be of a key that is not held here.
    if before.count <= old.count { for name in before { try delete(name) } }
    return key
  }

  /// Removes the files with a label; a copy of one still opens.
  /// - Throws: ``StoreError/notFound(_:)`` if there is none, ``StoreError/invalid(_:)`` if a key would have none.
  package func remove(label: String) throws(StoreError) {
    let labels = Dictionary(grouping: try files(), by: \.label)
    guard let going = labels[label] else { throw .notFound("passphrase \(label)") }
    guard labels.contains(where: { $0.key != label && $0.value.count >= going.count }) else {
      throw .invalid("\(label) is the only passphrase of a key, which nobody could open again")
    }
    for name in going { try delete(name) }
  }

  private func delete(_ name: KeyFileName) throws(StoreError) {
    guard let object = ObjectName("\(KeyFileName.directory)/\(name.text)") else { return }
    try asking { () throws(RemoteError) in try objects.delete(object) }
    know(known().filter { $0.name != name })
  }

  /// Returns the numbers of bundles by the name of their key; an empty name for plain bundles.
  /// - Complexity: one short request for each bundle.
  package func bundles(_ control: ExchangeControl) throws(StoreError) -> [String: Int] {
    let names = try BundleListing(objects, clock: .system).names
    let length = UInt64(BundleFormat.sealedTailLength)
    nonisolated(unsafe) let control = control
    let keys = try Threads.map(names.count, width: 8) { (index) throws(StoreError) -> String? in
      try control.check()
      let name = names[index]
      guard name.length > length else { return "" }
      do throws(RemoteError) {
        let tail = try objects.bytes(
          of: name.object, range: (name.length - length)..<name.length, atMost: Int(length))
        guard BundleFormat.ending(tail.suffix(8))?.isSealed == true else { return "" }
        return RemoteKey.name(of: tail.prefix(8))
      } catch {
        // A bundle may be removed in the meantime.
        guard error.kind == .absent else { throw StoreError(error) }
        return nil
      }
    }
    return keys.reduce(into: [:]) { counts, key in
      if let key { counts[key, default: 0] += 1 }
    }
  }
}
