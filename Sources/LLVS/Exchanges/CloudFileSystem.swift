public import Foundation

/// A failure of a cloud file system.
public enum CloudFileSystemError: Error, Hashable, Sendable {
  /// There is no file at the path.
  case fileNotFound
  /// A file cannot be written.
  case uploadFailed
  /// A file cannot be read.
  case downloadFailed
  /// A directory cannot be listed.
  case directoryListingFailed
  /// The service refuses the credentials.
  case authenticationFailed
  /// The service answers with a status that means failure.
  case serverError(statusCode: Int)
}

/// Files at a service, by path.
///
/// Paths are relative, for example `versions/ABC`.
public protocol CloudFileSystem: AnyObject, Sendable {
  /// Returns true if there is a file at a path.
  func fileExists(at path: String) async throws -> Bool

  /// Returns the names of what is in a directory.
  ///
  /// - Throws: ``CloudFileSystemError/fileNotFound`` or
  ///   ``CloudFileSystemError/directoryListingFailed`` if there is none.
  func contentsOfDirectory(at path: String) async throws -> [String]

  /// Writes a file, and makes the directories above it.
  func upload(data: Data, to path: String) async throws

  /// Returns the bytes of a file.
  ///
  /// - Throws: ``CloudFileSystemError/fileNotFound`` if there is none.
  func download(from path: String) async throws -> Data

  /// Removes a file; does nothing if there is none.
  func remove(at path: String) async throws

  /// Removes a directory and everything in it; does nothing if there is none.
  func removeDirectory(at path: String) async throws
}
