/// Objects that are written first and appear later, many at once.
///
/// INVARIANT 1: under an object's name there is never anything but the whole object.
/// INVARIANT 2: when ``publish(_:replacing:)`` returns, the objects exist, whole and durable.
/// - Concurrency: several threads may write objects, also during a publication; only one at a time may publish or
///   abandon.
package protocol ObjectStaging: AnyObject, Sendable {
  /// Begins an object, which replaces an unpublished one of the same name.
  func begin(_ name: ObjectName) throws(RemoteError) -> any StagedObject

  /// Makes written objects appear in order, except those whose names are in use; after an error those that appeared
  /// stay. With `replacing` the order is free, and objects of another length are replaced.
  func publish(_ names: [ObjectName], replacing: Bool) throws(RemoteError)
  /// Removes unpublished objects within a moment; the remote's next user removes the rest.
  func abandon()
}

/// - Concurrency: for one thread at a time.
package protocol StagedObject: AnyObject {
  /// Throws `noSpace` if the temporary place has no room for this many more bytes.
  func checkRoom(for length: UInt64) throws(RemoteError)
  func append(_ bytes: UnsafeRawBufferPointer) throws(RemoteError)
  /// Ends the object, which may then be published.
  func finish() throws(RemoteError)
}

extension ObjectStore {
  /// Begins to write objects that appear whole; `scratch` is this writer's folder there, `temporary` a local one.
  /// - Throws: ``RemoteError``, with `unsupported` if the remote can neither move objects nor hide torn ones.
  package func staging(
    scratch: String, temporary: String, folders: [String], control: TransferControl
  ) throws(RemoteError) -> any ObjectStaging {
    try prepare(folders)
    if let own = try ownStaging(scratch: scratch) { return own }
    return try RemoteStaging(self, scratch: scratch, temporary: temporary, control: control)
  }
}
