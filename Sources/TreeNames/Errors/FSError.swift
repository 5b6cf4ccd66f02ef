package import LLVSCore
package import Platform

/// The reason that a file operation failed, one case for each errno of errno(3) that an operation
/// may give.
///
/// `LLVSMount/Operations/FSError+Errno.swift` maps the cases to errno.
package enum FSError: Error, Sendable {
  /// EPERM: the operation is not permitted.
  case notPermitted
  /// ENOENT: no such file or directory.
  case noEntry
  /// EINTR: a signal interrupted the operation.
  case interrupted
  /// EIO: an error of the disk, or damaged data.
  case io
  /// ENXIO: no such address, as of lseek(2) without further data.
  case noDevice
  /// E2BIG: an argument or attribute is too long.
  case tooBig
  /// EAGAIN: the operation would have to wait.
  case wouldBlock
  /// EACCES: access is denied.
  case accessDenied
  /// EBUSY: the file or store is in use.
  case busy
  /// EEXIST: the name exists already.
  case exists
  /// EXDEV: the names are in different file systems, or the histories are unrelated.
  case crossDevice
  /// ENOTDIR: the file is no directory.
  case notDirectory
  /// EISDIR: the file is a directory.
  case isDirectory
  /// EINVAL: an argument is invalid.
  case invalid
  /// EFBIG: the file would be too long.
  case fileTooBig
  /// ENOSPC: no space is left.
  case noSpace
  /// EROFS: the file system, or this part of it, is read-only.
  case readOnly
  /// EMLINK: the file has too many names.
  case tooManyLinks
  /// ERANGE: the buffer is too small.
  case outOfRange
  /// ENAMETOOLONG: the name or the path is too long.
  case nameTooLong
  /// ENOTEMPTY: the directory is not empty.
  case notEmpty
  /// ENODATA: there is no such attribute.
  case noData
  /// EOPNOTSUPP: the operation is not supported here.
  case notSupported
  /// EBADMSG: a file of another program is not what it should be.
  case badMessage
  /// EHOSTUNREACH: a peer cannot be reached.
  case hostUnreachable
  /// ETIMEDOUT: a peer does not answer.
  case timedOut
  /// ECANCELED: the operation was cancelled.
  case cancelled
  /// ESTALE: the file or version does not exist any more.
  case stale
  /// ENOSYS: the operation is not served.
  case notImplemented
  /// The store failed; the errno follows from the store's error.
  case store(StoreError)
  /// A system call failed, with its own errno.
  case system(SystemError)

  /// Creates the error of a file operation from that of the store below it.
  package init(_ error: StoreError) {
    self = if case .system(let cause) = error { .system(cause) } else { .store(error) }
  }

  /// Runs a closure that uses the store, and throws the store's error as that of a file operation.
  @inlinable
  package static func wrapping<R: ~Copyable>(
    _ body: () throws(StoreError) -> R
  ) throws(FSError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      throw FSError(error)
    }
  }

  /// Runs calls of the system, and throws a failed one as ``system(_:)``.
  @inlinable
  package static func wrapping<R: ~Copyable>(
    _ body: () throws(SystemError) -> R
  ) throws(FSError) -> R {
    do throws(SystemError) {
      return try body()
    } catch {
      throw .system(error)
    }
  }
}

extension StoreError {
  package init(_ error: FSError) {
    self =
      switch error {
      case .store(let error): error
      case .system(let error): .system(error)
      case .noSpace: .noSpace("the disk is full")
      case .interrupted, .cancelled: .cancelled
      default: .busy("the live tree: \(error)")
      }
  }

  /// Runs file operations, and throws a failed one as an error of the store.
  package static func wrapping<R: ~Copyable>(
    _ body: () throws(FSError) -> R
  ) throws(StoreError) -> R {
    do throws(FSError) {
      return try body()
    } catch {
      throw StoreError(error)
    }
  }
}
