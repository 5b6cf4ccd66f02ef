internal import Foundation
internal import Synchronization

/// Streams that all get the same elements; a slow reader gets the newest one.
final class Broadcast<Element: Sendable>: Sendable {
  // A leaf lock.
  private let followers = Mutex<[UUID: AsyncStream<Element>.Continuation]>([:])

  /// Returns a new stream; `first` is evaluated after the stream has begun, so that no element is missed.
  func stream(beginningWith first: @autoclosure () -> Element? = nil) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingNewest(1))
    let id = UUID()
    continuation.onTermination = { [weak self] _ in
      _ = self?.followers.withLock { $0.removeValue(forKey: id) }
    }
    followers.withLock { $0[id] = continuation }
    if let first = first() { continuation.yield(first) }
    return stream
  }

  func yield(_ element: Element) {
    for follower in followers.withLock({ Array($0.values) }) { follower.yield(element) }
  }
}
