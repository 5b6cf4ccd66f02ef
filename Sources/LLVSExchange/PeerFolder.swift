import LLVSCore
internal import Platform

/// The directory of a peer's address, for versions in any form.
struct PeerFolder: Sendable {
  let path: String

  /// Checks that the folder exists.
  ///
  /// - Throws: ``StoreError/unreachable(_:)`` if it does not.
  func check() throws(StoreError) {
    do throws(SystemError) {
      guard try FileSystem.status(path).kind == .directory else {
        throw SystemError(errno: Errno.notDirectory, call: "stat", subject: path)
      }
    } catch {
      if error.errno == Errno.noEntry { throw .unreachable("\(path) is not there") }
      throw translated(error)
    }
  }

  /// Checks that a directory in the folder is not a link: a link leads to a directory that the user
  /// did not name as a peer, and that is neither read nor written.
  ///
  /// - Throws: ``StoreError/unreachable(_:)``.
  func checkOwn(_ directory: String) throws(StoreError) {
    let kind: FileStatus.Kind
    do throws(SystemError) {
      kind = try FileSystem.status(directory, following: false).kind
    } catch {
      throw translated(error)
    }
    guard kind == .directory else { throw .unreachable("\(directory) is no directory of its own") }
  }

  /// Returns the store's error for a call on the peer's folder that failed.
  func translated(_ error: SystemError) -> StoreError {
    switch error.errno {
    case Errno.noSpace: .noSpace("\(path): \(error)")
    case Errno.noEntry, Errno.notDirectory, Errno.inputOutput, Errno.noDevice, Errno.stale:
      .unreachable("\(path): \(error)")
    default: .system(error)
    }
  }
}
