import LLVSCore
internal import Platform

/// The directory that a peer's address names, whatever form the versions in it have.
struct PeerFolder: Sendable {
  let path: String

  /// Checks that the folder is there.
  ///
  /// - Throws: ``StoreError/unreachable(_:)`` where it is not.
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

  /// Checks that a directory in the folder is one: a link leads to a place that nobody named as a peer,
  /// which is neither read nor written.
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

  /// What a failed call says of the peer.
  func translated(_ error: SystemError) -> StoreError {
    switch error.errno {
    case Errno.noSpace: .noSpace("\(path): \(error)")
    case Errno.noEntry, Errno.notDirectory, Errno.inputOutput, Errno.noDevice, Errno.stale:
      .unreachable("\(path): \(error)")
    default: .system(error)
    }
  }
}
