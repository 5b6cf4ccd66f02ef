internal import Foundation

/// A message: a JSON object `{"id", "type", "requestId"?, "payload"?}`, the payload in base64.
struct PeerMessage: Codable, Sendable {
  enum Kind: String, Codable, Sendable {
    /// No payload; answered by `responseVersionIds` with a list of ids.
    case requestVersionIds
    /// A list of ids; answered by `responseVersions` with the existing versions among them.
    case requestVersions
    /// A list of ids; answered by `responseValueChanges` with lists of changes by id.
    case requestValueChanges
    case responseVersionIds
    case responseVersions
    case responseValueChanges
    case pushVersionChanges
    case errorResponse
  }

  var id = UUID().uuidString
  var type: Kind
  var requestId: String?
  var payload: Data?

  /// Executes a peer's request and returns the answer; nil for pushed versions.
  func handled(by store: Store) throws -> PeerMessage? {
    switch type {
    case .requestVersionIds:
      var ids: [Version.ID] = []
      try store.backend.forEachVersionID { ids.append($0) }
      return try answer(.responseVersionIds, ids)
    case .requestVersions:
      let versions = try ids().compactMap { try store.backend.version($0) }
      return try answer(.responseVersions, versions)
    case .requestValueChanges:
      var changes: [Version.ID: [Value.Change]] = [:]
      for id in try ids() { changes[id] = try store.backend.changesToSend(of: id) }
      return try answer(.responseValueChanges, changes)
    case .pushVersionChanges:
      let pushed = try JSONDecoder().decode([PushedVersion].self, from: payload ?? Data())
      let versions = pushed.map { (version: $0.version, valueChanges: $0.valueChanges) }
      for (id, fault) in try store.backend.add(versions) {
        log.error("The version \(id.rawValue) cannot be added: \(fault)")
      }
      return nil
    case .responseVersionIds, .responseVersions, .responseValueChanges, .errorResponse:
      return nil
    }
  }

  private func ids() throws -> [Version.ID] {
    guard let payload else { throw MultipeerExchange.Error.invalidMessage }
    return try JSONDecoder().decode([Version.ID].self, from: payload)
  }

  private func answer(_ type: Kind, _ value: some Encodable) throws -> PeerMessage {
    PeerMessage(type: type, requestId: id, payload: try JSONEncoder().encode(value))
  }
}

struct PushedVersion: Codable {
  var version: Version
  var valueChanges: [Value.Change]
}
