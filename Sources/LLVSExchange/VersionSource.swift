package import LLVSCore

/// A place that versions are read from, in any form.
/// Its content is not trusted: a fault is ``StoreError/invalid(_:)`` with file and reason.
/// - Concurrency: several threads read at once.
package protocol VersionSource: AnyObject {
  associatedtype Changes: ChangeSource

  /// Returns the ids of the versions there, in no order.
  /// - Throws: ``StoreError/unreachable(_:)`` if the place does not exist.
  func versionIDs() throws(StoreError) -> [Version.ID]
  func version(_ id: Version.ID) throws(StoreError) -> Version?
  func changes(of id: Version.ID) throws(StoreError) -> Changes?
  /// Returns the content digest next to a version whose metadata has none.
  func contentDigest(of id: Version.ID) throws(StoreError) -> Digest?
  /// The names of a version and of its changes in messages.
  func label(_ id: Version.ID) -> String
  func changesLabel(_ id: Version.ID) -> String
  /// The number of versions that are best read at a time.
  var requests: Int { get }
  /// The bytes that a retrieval may read; 0 if that is not known.
  var length: UInt64 { get }
}

extension VersionSource {
  package var requests: Int { 1 }
  package var length: UInt64 { 0 }
  package func contentDigest(of id: Version.ID) throws(StoreError) -> Digest? { nil }
}

package protocol ChangeSource {
  /// Calls the body with each change in order; the bytes of its value go into the sink before.
  /// - Throws: ``StoreError/invalid(_:)`` with file and reason, or an error of the sink or body.
  func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError)
}
