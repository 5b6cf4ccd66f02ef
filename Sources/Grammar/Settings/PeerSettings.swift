/// The settings of one peer. They are kept in the store, removed with the peer's name, and not exchanged.
package struct PeerSettings: Hashable, Sendable {
  package enum Name: String, Hashable, Sendable, CaseIterable {
    case encrypt
    case remove
    case direction
    case limit

    init(word: String) throws(ControlError) {
      guard let known = Name(rawValue: word) else {
        let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
        throw ControlError(.grammar, "unknown setting of a peer \"\(word)\"; they are: \(names)")
      }
      self = known
    }
  }

  package enum Direction: String, Hashable, Sendable, CaseIterable {
    case both
    case retrieveOnly = "retrieve-only"
    case sendOnly = "send-only"
  }

  package var direction = Direction.both
  /// Bytes a second in both directions together; nil for no limit.
  package var limit: UInt64?
  package var encrypts = false
  /// True if this store's own bundles are removed after their replacement.
  package var removes = true
  /// The writers whose bundles this store has adopted there; no setting for users.
  package var adopted: Set<String> = []
  package init() {}

  /// One setting of a peer and its new value, checked; an empty value restores the default.
  package struct Assignment: Hashable, Sendable {
    package let peer: String
    package let name: Name
    package let value: String

    /// - Throws: ``ControlError`` of kind `grammar` for an unknown setting or an invalid value.
    package init(name: String, value: String) throws(ControlError) {
      (peer, self.name) = try PeerSettings.names(name)
      self.value = value
      var scratch = PeerSettings()
      try scratch.assign(self.name, value)
    }

    package var key: String { PeerSettings.key(peer, name) }
  }

  /// Returns true if a word has the form of a peer's setting.
  package static func isName(_ word: String) -> Bool { word.contains(".") }

  /// Reads `PEER.SETTING`; the peer's name may have dots too.
  package static func names(_ word: String) throws(ControlError) -> (peer: String, name: Name) {
    guard let dot = word.lastIndex(of: "."), dot != word.startIndex else {
      throw ControlError(.grammar, "\"\(word)\" is not PEER.SETTING")
    }
    return (String(word[..<dot]), try Name(word: String(word[word.index(after: dot)...])))
  }

  package static func key(_ peer: String, _ name: Name) -> String {
    "peer.\(peer).\(name.rawValue)"
  }

  /// The name under which the store keeps the adopted writers.
  package static func adoptedKey(_ peer: String) -> String { "peer.\(peer).adopted" }

  /// Reads a peer's settings; unreadable ones have the safe value: encrypted, and nothing removed.
  package init(of peer: String, stored: [String: [UInt8]]) {
    let words = stored[Self.adoptedKey(peer)].map { String(decoding: $0, as: UTF8.self) } ?? ""
    adopted = Set(words.split(separator: " ").map(String.init))
    for name in Name.allCases {
      guard let bytes = stored[Self.key(peer, name)] else { continue }
      do throws(ControlError) {
        try assign(name, String(decoding: bytes, as: UTF8.self))
      } catch {
        switch name {
        case .encrypt: encrypts = true
        case .remove: removes = false
        case .direction, .limit: break
        }
      }
    }
  }

  private mutating func assign(_ name: Name, _ value: String) throws(ControlError) {
    let standard = PeerSettings()
    func flag(or standard: Bool) throws(ControlError) -> Bool {
      switch value {
      case "": return standard
      case "on": return true
      case "off": return false
      default: throw ControlError(.grammar, "\(name.rawValue)=\(value) is not on or off")
      }
    }
    switch name {
    case .encrypt: encrypts = try flag(or: standard.encrypts)
    case .remove: removes = try flag(or: standard.removes)
    case .direction:
      guard let known = Direction(rawValue: value.isEmpty ? "both" : value) else {
        let words = Direction.allCases.map(\.rawValue).joined(separator: ", ")
        throw ControlError(.grammar, "direction=\(value) is none of \(words)")
      }
      direction = known
    case .limit:
      guard !value.isEmpty, value != "off" else {
        limit = nil
        return
      }
      guard let size = Measure.size(value), (1024...1 << 50).contains(size) else {
        throw ControlError(
          .grammar,
          "limit=\(value) is not off or a number of bytes a second of at least 1K, such as 2M")
      }
      limit = size
    }
  }

  package func text(of name: Name) -> String {
    switch name {
    case .encrypt: encrypts ? "on" : "off"
    case .remove: removes ? "on" : "off"
    case .direction: direction.rawValue
    case .limit: limit.map { Measure.text(size: $0) } ?? "off"
    }
  }
}
