import Documents
import LLVSCore
import Synchronization

/// The last known state of one store's documents; the store's ``ControlService`` owns it.
package final class DocumentMemory: Sendable {
  private struct State {
    /// The state of each document's file when its contents were those of a version.
    var equal: [DocumentAddress: (stamp: DocumentStamp, head: VersionNumber)] = [:]
    /// The rows of the last read document, until the send to it; only one document's, because there may be many.
    var comparison: (DocumentAddress, DocumentStamp, DocumentComparison.Remembered)?
  }

  private let state = Mutex(State())

  /// Returns true if a document equals the head, and no copy exists next to it.
  func isUntouched(_ address: DocumentAddress, _ store: Store) -> Bool {
    guard let known = state.withLock({ $0.equal[address] }),
      let head = try? store.state().head, head == known.head,
      let stamp = try? DocumentStamp(path: address.path), stamp == known.stamp
    else { return false }
    return ConflictCopies.paths(of: address.path).isEmpty
  }

  func note(_ address: DocumentAddress, _ store: Store) {
    guard let head = try? store.state().head, let stamp = try? DocumentStamp(path: address.path)
    else { return }
    state.withLock { $0.equal[address] = (stamp, head) }
  }

  /// Keeps the result of reading a document until the send to it, or the next reading.
  func keep(
    _ comparison: DocumentComparison.Remembered, of address: DocumentAddress, _ stamp: DocumentStamp
  ) { state.withLock { $0.comparison = (address, stamp, comparison) } }

  /// Returns and forgets the kept result of a document that has not changed since.
  func takeComparison(
    of address: DocumentAddress, _ stamp: DocumentStamp
  ) -> DocumentComparison.Remembered? {
    state.withLock { state in
      guard let known = state.comparison, known.0 == address else { return nil }
      state.comparison = nil
      return known.1 == stamp ? known.2 : nil
    }
  }
}
