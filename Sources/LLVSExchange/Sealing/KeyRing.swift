package import LLVSCore
package import ObjectStores
internal import Platform

/// The keys of an encrypted remote: their files at the remote, and those that this store holds.
///
/// INVARIANT E2: secrets stand in `STORE/secrets` alone, in files that only their owner may read, and go
///   neither to the remote nor into logs, messages or backups unless encrypted.
///
/// - Concurrency: for one thread at a time.
package struct KeyRing {
  private let objects: any ObjectStore
  private let path: String

  /// The keys of a peer.
  package init(_ objects: any ObjectStore, peer: String, store: Store) {
    self.objects = objects
    path = Self.path(peer, store)
  }

  private static func path(_ peer: String, _ store: Store) -> String {
    "\(store.path)/secrets/\(peer).keys"
  }

  // MARK: What this store holds

  /// Returns the keys that a store holds for a peer; none where there is no file.
  ///
  /// - Throws: ``StoreError/denied(_:)`` if others may read the file, ``StoreError/corrupt(_:)`` if it
  ///   cannot be understood.
  package static func held(peer: String, store: Store) throws(StoreError) -> HeldKeys {
    HeldKeys(try read(path(peer, store)))
  }

  private static func read(_ path: String) throws(StoreError) -> [RemoteKey] {
    let text: [UInt8]
    let isPrivate: Bool
    do throws(SystemError) {
      let file = try File(path, [.read, .nonBlocking, .noFollow])
      let status = try file.status()
      isPrivate = status.kind == .regular && status.mode & 0o077 == 0
      text = isPrivate ? try file.read(65_536, at: 0) : []
    } catch {
      guard error.errno != Errno.noEntry else { return [] }
      throw .system(error)
    }
    guard isPrivate else {
      throw .denied("\(path): others than its owner may read it; \"chmod 600\" changes that")
    }
    var keys: [RemoteKey] = []
    for line in String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let words = line.split(separator: " ")
      guard words.count == 2, let bytes = Digest(hex: words[0])?.bytes, let made = UInt64(words[1])
      else { throw .corrupt("\(path): a line is no key") }
      keys.append(RemoteKey(bytes, made: made))
    }
    return keys
  }

  private func hold(_ keys: [RemoteKey]) throws(StoreError) {
    let lines = HeldKeys(keys).keys.map { key in
      "\(Digest(bytes: key.bytes)?.hex ?? "") \(key.made)\n"
    }
    let directory = FileSystem.directory(of: path)
    do throws(SystemError) {
      if try !FileSystem.exists(directory) {
        try FileSystem.makeDirectory(directory, permissions: 0o700)
      }
      try FileSystem.replace(path, with: Array(lines.joined().utf8), permissions: 0o600)
    } catch {
      throw .system(error)
    }
  }

  private func held() throws(StoreError) -> [RemoteKey] {
    try KeyRing.read(path)
  }

  // MARK: Files at the remote

  /// Returns the names of the key files, in order. Torn files are none.
  package func files() throws(StoreError) -> [KeyFileName] {
    guard let prefix = ObjectPrefix(folder: KeyFileName.directory) else { return [] }
    let listed = try asking { () throws(RemoteError) in try objects.all(prefix, atMost: 4096) }
    return Set(
      listed.compactMap { object -> KeyFileName? in
        guard let name = KeyFileName(object.name.last), object.length == UInt64(name.length) else {
          return nil
        }
        return name
      }
    ).sorted()
  }

  private func read(_ name: KeyFileName) throws(StoreError) -> KeyFile? {
    guard let object = ObjectName("\(KeyFileName.directory)/\(name.text)") else { return nil }
    let bytes = try asking { () throws(RemoteError) in
      try objects.bytes(of: object, atMost: KeyFile.length)
    }
    return name.matches(bytes) ? try KeyFile(bytes) : nil
  }

  private func put(_ file: KeyFile, label: String) throws(StoreError) {
    guard let name = KeyFileName(label, file),
      let object = ObjectName("\(KeyFileName.directory)/\(name.text)")
    else {
      throw .invalid("\"\(label)\" is no name for a key: letters, digits, dots and underscores")
    }
    try asking { () throws(RemoteError) in
      try objects.prepare([KeyFileName.directory])
      try objects.put(object, ObjectBody(file.bytes))
    }
  }

  /// Makes a new key, puts its file, and holds it. The keys held before stay.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` for a label or passphrase that cannot be used, or an error of
  ///   the remote.
  @discardableResult
  package func create(
    label: String, passphrase: [UInt8], strength: KeyFile.Strength = .usual
  ) throws(StoreError) -> RemoteKey {
    let key = RemoteKey.random()
    try put(try KeyFile(key, passphrase: passphrase, strength: strength), label: label)
    try hold(try held() + [key])
    return key
  }

  /// Opens all key files that a passphrase opens, and holds their keys.
  ///
  /// - Returns: the keys that are held now.
  /// - Throws: ``StoreError/denied(_:)`` if it opens none, with the labels that there are.
  package func unlock(passphrase: [UInt8]) throws(StoreError) -> HeldKeys {
    var opened: [RemoteKey] = []
    let names = try files()
    for name in names {
      do throws(StoreError) {
        if let key = try read(name)?.key(passphrase: passphrase) { opened.append(key) }
      } catch {
        // Another file may open.
        switch error {
        case .invalid, .fromTheFuture: continue
        default: throw error
        }
      }
    }
    guard !opened.isEmpty else {
      let labels = names.map(\.label).joined(separator: ", ")
      throw .denied(
        names.isEmpty
          ? "there is no key at this remote" : "the passphrase opens none of its keys: \(labels)")
    }
    let keys = HeldKeys(try held() + opened)
    try hold(keys.keys)
    return keys
  }

  /// Puts one file more for the key that encrypts, which another passphrase opens.
  ///
  /// - Throws: ``StoreError/denied(_:)`` if no key is held.
  package func add(
    label: String, passphrase: [UInt8], strength: KeyFile.Strength = .usual
  ) throws(StoreError) {
    guard let key = HeldKeys(try held()).keys.first else {
      throw .denied("this store holds no key of this remote")
    }
    try put(try KeyFile(key, passphrase: passphrase, strength: strength), label: label)
  }

  /// Removes the files with a label. Whoever has a copy of one can open it still.
  ///
  /// - Throws: ``StoreError/notFound(_:)`` if there is none, ``StoreError/invalid(_:)`` if no file
  ///   would be left.
  package func remove(label: String) throws(StoreError) {
    let all = try files()
    let going = all.filter { $0.label == label }
    guard !going.isEmpty else { throw .notFound("key \(label)") }
    guard going.count < all.count else {
      throw .invalid("\(label) is the only key: without it nobody could read this remote again")
    }
    for name in going {
      guard let object = ObjectName("\(KeyFileName.directory)/\(name.text)") else { continue }
      try asking { () throws(RemoteError) in try objects.delete(object) }
    }
  }
}
