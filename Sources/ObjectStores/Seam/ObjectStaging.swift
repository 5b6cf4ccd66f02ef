/// Objects that are written first and appear later, many at once.
///
/// INVARIANT 1: under an object's name nothing but the whole object ever stands, not for a moment: a program
/// that reads every name in a folder finds whole objects only.
/// INVARIANT 2: when ``publish(_:replacing:)`` returns, the objects are there, whole and durable.
///
/// - Concurrency: objects may be written by several threads, also while others are published; publishing and
///   abandoning are for one thread at a time.
package protocol ObjectStaging: AnyObject, Sendable {
  /// Begins an object, which takes the place of one that was written under the same name before.
  ///
  /// - Throws: ``RemoteError``.
  func begin(_ name: ObjectName) throws(RemoteError) -> any StagedObject

  /// Makes objects that were written appear.
  ///
  /// - Parameters:
  ///   - names: the objects.
  ///   - replacing: true to have them appear in any order, each in the place of what is there with
  ///     another length; false to have them appear in the order given, and to drop each whose name is taken.
  ///
  /// - Throws: ``RemoteError``; those that appeared stay.
  func publish(_ names: [ObjectName], replacing: Bool) throws(RemoteError)

  /// Removes what was written and did not appear, as far as that takes less than a moment; the next user of
  /// the same remote removes the rest.
  func abandon()
}

/// An object that is being written.
///
/// - Concurrency: for one thread at a time.
package protocol StagedObject: AnyObject {
  /// Checks whether so many bytes more have room where they are written first, before any of them is.
  ///
  /// - Throws: ``RemoteError`` with `noSpace` if they have not.
  func checkRoom(for length: UInt64) throws(RemoteError)

  /// Adds bytes.
  ///
  /// - Throws: ``RemoteError``.
  func append(_ bytes: UnsafeRawBufferPointer) throws(RemoteError)

  /// Ends the object, which may be published from now on.
  ///
  /// - Throws: ``RemoteError``.
  func finish() throws(RemoteError)
}

extension ObjectStore {
  /// Begins to write objects that appear whole.
  ///
  /// - Parameters:
  ///   - scratch: the name of a folder for what is not published yet, which only this writer uses.
  ///   - temporary: a directory of this machine for objects on their way.
  ///   - folders: the folders that the objects are going to be in; they are made.
  ///   - control: the control that the remote was opened with.
  /// - Returns: the staging, without objects.
  /// - Throws: ``RemoteError``, with `unsupported` where the remote can neither move objects nor keep others
  ///   from seeing a part of one.
  package func staging(
    scratch: String, temporary: String, folders: [String], control: TransferControl
  ) throws(RemoteError) -> any ObjectStaging {
    try prepare(folders)
    if let own = try ownStaging(scratch: scratch) { return own }
    return try RemoteStaging(self, scratch: scratch, temporary: temporary, control: control)
  }
}
