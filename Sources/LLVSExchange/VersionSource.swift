package import LLVSCore

/// A place that versions are read from, in any form.
///
/// Its content is not trusted. A source is responsible for transport and form only; a fault of the
/// content is ``StoreError/invalid(_:)`` with file and reason.
///
/// - Concurrency: several threads read at once.
package protocol VersionSource: AnyObject {
  /// The changes of a version, not read yet.
  associatedtype Changes: ChangeSource

  /// Returns the ids of the versions there, in no order; names that cannot be those of versions are
  /// left out.
  ///
  /// - Throws: ``StoreError/unreachable(_:)`` if the place does not exist.
  func versionIDs() throws(StoreError) -> [Version.ID]

  /// Returns a version; nil if it is not there.
  func version(_ id: Version.ID) throws(StoreError) -> Version?

  /// Returns the changes of a version; nil if they are not there.
  func changes(of id: Version.ID) throws(StoreError) -> Changes?

  /// Returns the content digest that is next to a version whose metadata has none; nil for none.
  func contentDigest(of id: Version.ID) throws(StoreError) -> Digest?

  /// Returns the name of a version in messages.
  func label(_ id: Version.ID) -> String

  /// Returns the name of a version's changes in messages.
  func changesLabel(_ id: Version.ID) -> String

  /// Returns true if the text of a fault contains the name of its file.
  func isNamed(_ reason: String) -> Bool

  /// The number of versions that are best read at a time.
  var requests: Int { get }
}

extension VersionSource {
  /// One: the place is as fast as the disk.
  package var requests: Int { 1 }
}

extension VersionSource {
  /// The default: none.
  package func contentDigest(of id: Version.ID) throws(StoreError) -> Digest? { nil }
}

/// A list of changes, read once.
package protocol ChangeSource {
  /// Calls the body with each change in the order of writing; the bytes of a value go into the sink
  /// before.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` with file and reason, or an error of the sink or the
  ///   body.
  func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError)
}

extension WireInput: ChangeSource {
  /// Reads the file as a change list in JSON.
  package func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    var reader = ChangeReader(self, into: sink)
    while let change = try reader.next() { try body(change) }
  }
}

extension WireRemote {
  /// Reads the file `versions/ID`; nil if it is not there.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` if it is malformed or has another id.
  package func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let input = try open(.version, id) else { return nil }
    let version = try Version(reading: input)
    guard version.id == id else {
      throw .invalid("\(input.name): it holds the version \(version.id.rawValue)")
    }
    return version
  }

  /// Opens the file `changes/ID`; nil if it is not there.
  package func changes(of id: Version.ID) throws(StoreError) -> WireInput? {
    try open(.changes, id)
  }

  /// Returns `versions/ID`.
  package func label(_ id: Version.ID) -> String { "versions/\(id.rawValue)" }

  /// Returns `changes/ID`.
  package func changesLabel(_ id: Version.ID) -> String { "changes/\(id.rawValue)" }

  /// Returns true if the text begins with a file of changes.
  package func isNamed(_ reason: String) -> Bool { reason.hasPrefix("changes/") }
}
