package import Grammar
import LLVSExchange
import ObjectStores
import TreeNames

/// The keys of an encrypted peer (docs/formats.md, "Encrypted remotes").
package struct PeerKeys {
  /// Returns a passphrase; people type a new one twice.
  package typealias Asking = (_ isNew: Bool) throws(ControlError) -> [UInt8]
  private let name: String
  private let ring: KeyRing
  private let objects: any ObjectStore
  private let transfer: TransferControl
  var strength = KeyFile.Strength.usual
  /// True to make files for machines with little memory.
  package var isLight = false { didSet { strength = isLight ? .light : .usual } }

  /// Opens the place of a peer.
  /// - Throws: ``ControlError`` for a document or store, which cannot be encrypted; the errors of opening a peer.
  package init(_ opening: PeerOpening, at address: PeerAddress) throws(ControlError) {
    guard case .remote(let remote) = address else {
      throw ControlError(.grammar, "a document cannot be encrypted")
    }
    name = opening.name
    transfer = opening.transfer
    try PeerOpener.refuseStore(remote, opening)
    objects = try translating {
      try asking { () throws(RemoteError) in
        let objects = try PeerOpener.connector(remote, opening).open()
        if opening.isNew { try PeerOpener.makeFolder(of: remote, objects) }
        return objects
      }
    }
    ring = KeyRing(
      objects, peer: opening.name, place: PeerOpener.place(of: remote), store: opening.store)
  }

  /// Makes the first key of an empty remote, or gets the keys that a passphrase opens.
  /// - Throws: ``ControlError`` of kind `exists` if plain data exists, `notPermitted` for a wrong passphrase.
  package func open(label: String, _ passphrase: Asking) throws(ControlError) -> CommandResult {
    let files = try translating { try ring.files() }
    if !files.isEmpty {
      let words = try passphrase(false)
      let keys = try translating { try ring.unlock(passphrase: words) }
      return CommandResult(
        "\(name) is encrypted, and its key is held here",
        ["peer": name, "isNew": false, "key": keys.keys.first?.name ?? ""])
    }
    try refuseOccupied()
    let words = try passphrase(true)
    let key = try translating {
      try ring.create(label: label, passphrase: words, strength: strength)
    }
    return CommandResult(
      "\(name) is encrypted with a new key. Keep the passphrase: without it, or a machine that has the key, "
        + "nothing there can be read again",
      ["peer": name, "isNew": true, "key": key.name])
  }

  /// Throws if a remote has versions, because these stay unencrypted.
  private func refuseOccupied() throws(ControlError) {
    for folder in [ExchangeFolders.bundles, ExchangeFolders.versions] {
      guard let prefix = ObjectPrefix(folder: folder) else { continue }
      let isEmpty = try translating {
        try asking { () throws(RemoteError) in
          try objects.list(prefix, after: nil, page: nil).objects.isEmpty
        }
      }
      guard isEmpty else {
        let keys = try translating { try ring.bundles(ExchangeControl()).keys }
        let isEncrypted = keys.contains { !$0.isEmpty }
        throw ControlError(
          isEncrypted ? .damaged : .exists,
          isEncrypted
            ? "\(name) is encrypted, and its key files are lost: a sync, or \"llvs key add\", on a machine that holds "
              + "the key makes one"
            : "\(name) holds versions already and no key: what is there cannot be encrypted afterwards; use a "
              + "place that is empty, and remove the old one when everything was sent to the new")
      }
    }
  }

  package func list() throws(ControlError) -> CommandResult {
    let transfer = transfer
    let (files, held, counts) = try translating {
      (
        try ring.files(), try ring.heldKeys().keys,
        try ring.bundles(ExchangeControl(isCancelled: { transfer.isCancelled }))
      )
    }
    let labels = Set(files.map(\.label)).sorted()
    let known = Set(held.map(\.name))
    var lines = labels.isEmpty ? ["no passphrase opens a key at \(name)"] : []
    if !labels.isEmpty { lines.append("passphrases: \(labels.joined(separator: ", "))") }
    for (index, key) in held.enumerated() {
      let time = TimestampText.iso(Int64(clamping: key.made))
      lines.append(
        "key \(key.name), made \(time), \(PrintableText.count(counts[key.name] ?? 0, "bundle"))"
          + (index == 0 ? ", encrypts what is new" : ""))
    }
    for (key, count) in counts.sorted(by: { $0.key < $1.key }) where !known.contains(key) {
      lines.append(
        key.isEmpty
          ? "not encrypted, and not read: \(PrintableText.count(count, "bundle"))"
          : "key \(key), not held here, \(PrintableText.count(count, "bundle"))")
    }
    var values = held.map { key -> ReplyValue in
      [
        "key": key.name, "made": TimestampText.iso(Int64(clamping: key.made)), "isHeld": true,
        "bundles": counts[key.name] ?? 0,
      ]
    }
    for (key, count) in counts.sorted(by: { $0.key < $1.key })
    where !known.contains(key) && !key.isEmpty {
      values.append(["key": key, "made": ReplyValue.null, "isHeld": false, "bundles": count])
    }
    return CommandResult(
      lines.joined(separator: "\n"),
      ["peer": name, "labels": labels, "keys": values, "plainBundles": counts[""] ?? 0])
  }

  package func add(label: String, _ passphrase: Asking) throws(ControlError) -> CommandResult {
    try refuseLabel(label)
    try requireKey()
    let words = try passphrase(true)
    try translating { try ring.add(label: label, passphrase: words, strength: strength) }
    return done("the passphrase \(label) opens \(name) too", label)
  }

  /// Throws for a label in use, because labels distinguish passphrases.
  private func refuseLabel(_ label: String) throws(ControlError) {
    let files = try translating { try ring.files() }
    guard !files.contains(where: { $0.label == label }) else {
      throw ControlError(
        .exists, "there is a passphrase \(label) at \(name); give the new one another label")
    }
  }

  private func requireKey() throws(ControlError) {
    let held = try translating { try ring.heldKeys() }
    guard !held.keys.isEmpty else {
      throw ControlError(
        .notPermitted,
        "this store holds no key of \(name); \"llvs key open \(name)\" asks for its passphrase")
    }
  }

  package func remove(label: String) throws(ControlError) -> CommandResult {
    try translating { try ring.remove(label: label) }
    return done(
      "passphrase \(label) no longer opens \(name). Someone who copied its key file still can; to lock them out "
        + "of what is new: llvs key rotate \(name)", label)
  }

  /// Makes another key, which encrypts from now on.
  package func rotate(label: String, _ passphrase: Asking) throws(ControlError) -> CommandResult {
    try requireKey()
    let words = try passphrase(true)
    let key = try translating {
      try ring.rotate(label: label, passphrase: words, strength: strength)
    }
    return CommandResult(
      "\(name): what is new is encrypted with the key \(key.name); on other machines say "
        + "\"llvs key open \(name)\" with the new passphrase",
      ["peer": name, "label": label, "key": key.name])
  }

  /// Returns files of this store's keys that a passphrase opens, by their names.
  package func export(
    label: String, _ passphrase: Asking
  ) throws(ControlError) -> [(name: String, bytes: [UInt8])] {
    try requireKey()
    let words = try passphrase(true)
    return try translating {
      try ring.made(label: label, passphrase: words, strength: strength)
        .map { ($0.name.text, $0.bytes) }
    }
  }

  private func done(_ text: String, _ label: String) -> CommandResult {
    CommandResult(text, ["peer": name, "label": label])
  }

  package static func label(_ machine: String) -> String {
    let letters = machine.utf8.prefix(64).map { byte -> UInt8 in
      KeyFileName.isLabel("a\(Character(UnicodeScalar(byte)))") ? byte : UInt8(ascii: "_")
    }
    let label = String(decoding: letters, as: UTF8.self)
    return KeyFileName.isLabel(label) ? label : "key"
  }
}
