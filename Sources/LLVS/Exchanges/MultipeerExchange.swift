public import Foundation
internal import LLVSExchange
internal import Synchronization

public protocol PeerTransport: AnyObject {
  /// Sends a message to a peer; it arrives whole, or not at all.
  /// - Throws: any error, which ends the exchange.
  func send(_ data: Data, toPeer peerID: String) throws
}

/// Exchanges a store's versions with one peer, by messages over a channel of the program's own.
/// The program passes each message of the peer to ``receiveData(_:)``.
/// - Concurrency: callable from any thread.
public final class MultipeerExchange: Exchange, Sendable {
  public enum Error: Swift.Error, Hashable, Sendable {
    case transportUnavailable
    /// The peer did not answer within half a minute.
    case timeout
    case invalidMessage
    case requestFailed(String)
  }

  /// Unchecked: one thread at a time calls the transport, as ``sending`` ensures.
  private struct State: @unchecked Sendable {
    weak var transport: (any PeerTransport)?
    var pending: [String: CheckedContinuation<Data, any Swift.Error>] = [:]
  }

  public let store: Store
  public let peerID: String
  // A leaf lock.
  private let state: Mutex<State>
  // Held while the transport gets a message.
  private let sending = Mutex(())
  private let pushes = Broadcast<Void>()
  /// The received messages that are not handled yet: pushes keep their order.
  private let incoming: AsyncStream<PeerMessage>.Continuation
  private static let patience = Duration.seconds(30)

  /// Exchanges over a channel, without keeping it alive.
  public init(store: Store, peerID: String, transport: (any PeerTransport)?) {
    self.store = store
    self.peerID = peerID
    state = Mutex(State(transport: transport))
    let (stream, continuation) = AsyncStream.makeStream(of: PeerMessage.self)
    incoming = continuation
    Task { [weak self] in
      for await message in stream { await self?.handle(message) }
    }
  }

  deinit { incoming.finish() }

  /// Nil once the channel no longer exists.
  public var transport: (any PeerTransport)? {
    get { state.withLock { $0 }.transport }
    set {
      let new = State(transport: newValue)
      state.withLock { $0.transport = new.transport }
    }
  }

  public var newVersionsAvailable: AsyncStream<Void> { pushes.stream() }

  /// Takes a message from the peer; unreadable messages are ignored.
  public func receiveData(_ data: Data) {
    guard let message = try? JSONDecoder().decode(PeerMessage.self, from: data) else {
      log.warning("A message of \(peerID) cannot be read.")
      return
    }
    switch message.type {
    case .responseVersionIds, .responseVersions, .responseValueChanges, .errorResponse:
      // Answers are passed on at once, because a request waits for them.
      finish(message)
    case .requestVersionIds, .requestVersions, .requestValueChanges, .pushVersionChanges:
      incoming.yield(message)
    }
  }

  public func retrieveAllVersionIdentifiers() async throws -> [Version.ID] {
    try await answer(to: .requestVersionIds, nil)
  }

  public func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version] {
    guard !versionIds.isEmpty else { return [] }
    return try await answer(to: .requestVersions, try JSONEncoder().encode(versionIds))
  }

  public func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]] {
    guard !versionIds.isEmpty else { return [:] }
    return try await answer(to: .requestValueChanges, try JSONEncoder().encode(versionIds))
  }

  public func send(versionChanges: [VersionChanges]) async throws {
    guard !versionChanges.isEmpty else { return }
    let payload = try JSONEncoder().encode(
      versionChanges.map { PushedVersion(version: $0.version, valueChanges: $0.valueChanges) })
    try post(PeerMessage(type: .pushVersionChanges, payload: payload))
  }

  private func answer<Answer: Decodable>(
    to type: PeerMessage.Kind, _ payload: Data?
  ) async throws -> Answer {
    let message = PeerMessage(type: type, payload: payload)
    let timer = Task { [weak self] in
      try await Task.sleep(for: MultipeerExchange.patience)
      self?.waiting(for: message.id)?.resume(throwing: Error.timeout)
    }
    defer { timer.cancel() }
    let data = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { $0.pending[message.id] = continuation }
        do {
          try Task.checkCancellation()
          try post(message)
        } catch {
          waiting(for: message.id)?.resume(throwing: error)
        }
      }
    } onCancel: {
      waiting(for: message.id)?.resume(throwing: CancellationError())
    }
    return try JSONDecoder().decode(Answer.self, from: data)
  }

  private func waiting(for id: String) -> CheckedContinuation<Data, any Swift.Error>? {
    state.withLock { $0.pending.removeValue(forKey: id) }
  }

  private func finish(_ message: PeerMessage) {
    guard let id = message.requestId, let request = waiting(for: id) else { return }
    if message.type == .errorResponse {
      let text = String(decoding: message.payload ?? Data(), as: UTF8.self)
      request.resume(throwing: Error.requestFailed(text))
    } else {
      request.resume(returning: message.payload ?? Data())
    }
  }

  private func post(_ message: PeerMessage) throws {
    guard let transport else { throw Error.transportUnavailable }
    let data = try JSONEncoder().encode(message)
    try sending.withLock { _ in try transport.send(data, toPeer: peerID) }
  }

  private func handle(_ message: PeerMessage) async {
    let store = store
    do {
      let answer = try await Threads.run { _ in try message.handled(by: store) }
      if let answer {
        try post(answer)
      } else {
        store.noteNewVersions()
        pushes.yield(())
      }
    } catch {
      log.error("A message of \(peerID) cannot be handled: \(error)")
      guard message.type != .pushVersionChanges else { return }
      // The peer waits for an answer; if sending fails, the peer times out.
      try? post(
        PeerMessage(
          type: .errorResponse, requestId: message.id, payload: Data("\(error)".utf8)))
    }
  }
}
