package import LLVSCore
package import Platform

/// The reason that a file operation failed, one case for each errno of errno(3) that an operation
/// may give.
///
/// `LLVSMount/FSError+Errno.swift` maps the cases to errno.
package enum FSError: Error, Sendable {
  case notPermitted
  case noEntry
  case interrupted
  case io
  case noDevice
  case tooBig
  case wouldBlock
  case accessDenied
  case busy
  case exists
  case crossDevice
  case notDirectory
  case isDirectory
  case invalid
  case fileTooBig
  case noSpace
  case readOnly
  case tooManyLinks
  case outOfRange
  case nameTooLong
  case notEmpty
  case noData
  case notSupported
  case hostUnreachable
  case timedOut
  case cancelled
  case stale
  case notImplemented
  /// The store failed; the errno follows from the store's error.
  case store(StoreError)
  /// A system call failed, with its own errno.
  case system(SystemError)
}

/// Runs a closure that reads a store, and throws the store's error as the error of a file
/// operation.
///
/// - Throws: ``FSError/store(_:)`` with whatever error the closure throws.
package func reading<R>(_ body: () throws(StoreError) -> R) throws(FSError) -> R {
  do throws(StoreError) {
    return try body()
  } catch {
    throw .store(error)
  }
}
