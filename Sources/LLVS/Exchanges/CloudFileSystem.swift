public import Foundation

public enum CloudFileSystemError: Error, Hashable, Sendable {
  case fileNotFound
  case uploadFailed
  case downloadFailed
  case directoryListingFailed
  case authenticationFailed
  case serverError(statusCode: Int)
}

/// Files at a service, by relative path, for example `versions/ABC`.
public protocol CloudFileSystem: AnyObject, Sendable {
  /// - Throws: ``CloudFileSystemError``.
  func fileExists(at path: String) async throws -> Bool
  /// - Throws: ``CloudFileSystemError/fileNotFound``, ``CloudFileSystemError/directoryListingFailed``.
  func contentsOfDirectory(at path: String) async throws -> [String]
  /// Makes the directories above the file too.
  /// - Throws: ``CloudFileSystemError``.
  func upload(data: Data, to path: String) async throws
  /// - Throws: ``CloudFileSystemError/fileNotFound``.
  func download(from path: String) async throws -> Data
  /// Does nothing if the file does not exist.
  /// - Throws: ``CloudFileSystemError``.
  func remove(at path: String) async throws
  /// Removes a directory with its content, if it exists.
  /// - Throws: ``CloudFileSystemError``.
  func removeDirectory(at path: String) async throws
}
