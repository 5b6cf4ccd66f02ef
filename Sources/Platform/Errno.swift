internal import Glibc

/// The errno values for other modules, so that they need not import the C library.
package enum Errno {
  package static let operationNotPermitted = EPERM
  package static let noEntry = ENOENT
  package static let interrupted = EINTR
  package static let inputOutput = EIO
  package static let tooBig = E2BIG
  package static let noMemory = ENOMEM
  package static let accessDenied = EACCES
  package static let busy = EBUSY
  package static let exists = EEXIST
  package static let crossDevice = EXDEV
  package static let noDevice = ENODEV
  package static let notDirectory = ENOTDIR
  package static let isDirectory = EISDIR
  package static let invalid = EINVAL
  package static let tooManyOpenFiles = EMFILE
  package static let fileTooBig = EFBIG
  package static let noSpace = ENOSPC
  package static let brokenPipe = EPIPE
  package static let readOnlyFileSystem = EROFS
  package static let tooManyLinks = EMLINK
  package static let outOfRange = ERANGE
  package static let nameTooLong = ENAMETOOLONG
  package static let notImplemented = ENOSYS
  package static let notEmpty = ENOTEMPTY
  package static let tooManySymlinks = ELOOP
  package static let noData = ENODATA
  package static let notSupported = EOPNOTSUPP
  package static let timedOut = ETIMEDOUT
  package static let badMessage = EBADMSG
  package static let hostUnreachable = EHOSTUNREACH
  package static let notConnected = ENOTCONN
  package static let connectionAborted = ECONNABORTED
  package static let stale = ESTALE
  package static let quota = EDQUOT
  package static let cancelled = ECANCELED
  package static let noSuchDeviceOrAddress = ENXIO
}
