package import LLVSCore

/// A place that versions are read from, whatever their form there.
///
/// What it holds is not trusted: it answers for transport and form alone, and a fault of what is there is
/// ``StoreError/invalid(_:)`` that names file and reason.
///
/// - Concurrency: reading is done by several threads at once.
package protocol VersionSource: AnyObject {
  /// The changes of a version, not read yet.
  associatedtype Changes: ChangeSource

  /// The ids of what is there, in no order; names that cannot be a version's are left out.
  ///
  /// - Throws: ``StoreError/unreachable(_:)`` if the place is not there.
  func versionIDs() throws(StoreError) -> [Version.ID]

  /// What a version is; nil if it is not there.
  func version(_ id: Version.ID) throws(StoreError) -> Version?

  /// What a version changes; nil if it is not there.
  func changes(of id: Version.ID) throws(StoreError) -> Changes?

  /// How faults call a version of this place.
  func label(_ id: Version.ID) -> String

  /// How faults call what a version changes.
  func changesLabel(_ id: Version.ID) -> String

  /// Whether a fault names the file that it is in.
  func isNamed(_ reason: String) -> Bool
}

/// A list of changes, read once.
package protocol ChangeSource {
  /// Calls with each change in the order they were written; the bytes of values go into the sink before.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` that names file and reason, or what sink and body throw.
  func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError)
}

extension WireInput: ChangeSource {
  package func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    var reader = ChangeReader(self, into: sink)
    while let change = try reader.next() { try body(change) }
  }
}

extension WireRemote {
  package func version(_ id: Version.ID) throws(StoreError) -> Version? {
    guard let input = try open(.version, id) else { return nil }
    let version = try Version(reading: input)
    guard version.id == id else {
      throw .invalid("\(input.name): it holds the version \(version.id.rawValue)")
    }
    return version
  }

  package func changes(of id: Version.ID) throws(StoreError) -> WireInput? {
    try open(.changes, id)
  }

  package func label(_ id: Version.ID) -> String { "versions/\(id.rawValue)" }

  package func changesLabel(_ id: Version.ID) -> String { "changes/\(id.rawValue)" }

  package func isNamed(_ reason: String) -> Bool { reason.hasPrefix("changes/") }
}
