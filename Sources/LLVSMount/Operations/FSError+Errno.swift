import LLVSCore
import Platform
import TreeNames

// Maps errors of the file tree and the store to an errno.

extension FSError {
  package var errno: Int32 {
    switch self {
    case .notPermitted: Errno.operationNotPermitted
    case .noEntry: Errno.noEntry
    case .interrupted: Errno.interrupted
    case .io: Errno.inputOutput
    case .noDevice: Errno.noSuchDeviceOrAddress
    case .tooBig: Errno.tooBig
    case .accessDenied: Errno.accessDenied
    case .busy: Errno.busy
    case .exists: Errno.exists
    case .crossDevice: Errno.crossDevice
    case .notDirectory: Errno.notDirectory
    case .isDirectory: Errno.isDirectory
    case .invalid: Errno.invalid
    case .fileTooBig: Errno.fileTooBig
    case .noSpace: Errno.noSpace
    case .readOnly: Errno.readOnlyFileSystem
    case .tooManyLinks: Errno.tooManyLinks
    case .outOfRange: Errno.outOfRange
    case .nameTooLong: Errno.nameTooLong
    case .notEmpty: Errno.notEmpty
    case .noData: Errno.noData
    case .notSupported: Errno.notSupported
    case .badMessage: Errno.badMessage
    case .hostUnreachable: Errno.hostUnreachable
    case .timedOut: Errno.timedOut
    case .cancelled: Errno.cancelled
    case .stale: Errno.stale
    case .store(let error): error.errno
    case .system(let error): error.errno
    }
  }
}

extension StoreError {
  /// The errno for a store's error; EIO is for damage alone.
  package var errno: Int32 {
    switch self {
    case .missingVersion, .notFound: Errno.noEntry
    case .invalid, .unresolvedConflict: Errno.invalid
    case .noCommonAncestor, .unrelated: Errno.crossDevice
    case .attemptToAddExistingVersion, .exists: Errno.exists
    case .attemptToAddVersionWithNonexistingPredecessors: Errno.invalid
    case .corrupt, .rebuildable: Errno.inputOutput
    case .forgotten: Errno.noData
    case .malformed: Errno.badMessage
    case .fromTheFuture, .unreliable: Errno.notSupported
    case .denied: Errno.accessDenied
    case .busy: Errno.busy
    case .unreachable: Errno.hostUnreachable
    case .timedOut: Errno.timedOut
    case .cancelled: Errno.interrupted
    case .readOnly: Errno.readOnlyFileSystem
    case .noSpace: Errno.noSpace
    case .system(let error): error.errno
    }
  }
}
