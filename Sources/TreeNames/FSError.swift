package import LLVSCore
package import Platform

/// Why a file operation failed, in the words of errno(3); one case per errno an operation may give.
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
  /// A store said no: mapped by what it said.
  case store(StoreError)
  /// The system said no: its own errno.
  case system(SystemError)
}

/// Runs a closure that reads a store; its errors become a file operation's.
package func reading<R>(_ body: () throws(StoreError) -> R) throws(FSError) -> R {
  do throws(StoreError) {
    return try body()
  } catch {
    throw .store(error)
  }
}
