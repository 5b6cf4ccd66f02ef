package import LLVSCore
package import Platform

/// The errors of file operations, one for each errno (`LLVSMount/Operations/FSError+Errno.swift`).
package enum FSError: Error, Sendable {
  case notPermitted
  case noEntry
  case interrupted
  /// An error of the disk, or damaged data.
  case io
  /// ENXIO, as in lseek(2) without further data.
  case noDevice
  case tooBig
  case accessDenied
  case busy
  case exists
  /// Different file systems, or unrelated histories.
  case crossDevice
  case notDirectory
  case isDirectory
  case invalid
  case fileTooBig
  case noSpace
  case readOnly
  case tooManyLinks
  /// ERANGE: the buffer is too small.
  case outOfRange
  case nameTooLong
  case notEmpty
  /// The attribute does not exist.
  case noData
  case notSupported
  /// EBADMSG: a file of another program is malformed.
  case badMessage
  /// A peer cannot be reached.
  case hostUnreachable
  case timedOut
  case cancelled
  /// The file or version no longer exists.
  case stale
  /// The store's error determines the errno.
  case store(StoreError)
  case system(SystemError)

  package init(_ error: StoreError) {
    self =
      switch error {
      case .system(let cause): .system(cause)
      case .rebuildable(let fault): .store(.corrupt(fault))
      default: .store(error)
      }
  }

  @inlinable @inline(__always)
  package static func wrapping<R>(
    _ body: () throws(StoreError) -> R
  ) throws(FSError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      throw FSError(error)
    }
  }

  @inlinable @inline(__always)
  package static func wrapping<R>(
    _ body: () throws(SystemError) -> R
  ) throws(FSError) -> R {
    do throws(SystemError) {
      return try body()
    } catch {
      throw .system(error)
    }
  }

  /// Throws an error of the store in an expression as that of a file operation.
  @inlinable @inline(__always)
  package static func translating<R>(
    _ body: @autoclosure () throws(StoreError) -> R
  ) throws(FSError) -> R {
    try wrapping(body)
  }

  /// True if the disk or the user's quota is full.
  package var isNoSpace: Bool {
    switch self {
    case .noSpace, .store(.noSpace): true
    case .system(let error), .store(.system(let error)): error.isFull
    default: false
    }
  }

  package var damage: String? {
    switch self {
    case .store(let error): error.damage
    case .system(let error): StoreError.system(error).damage
    default: nil
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

  package static func wrapping<R>(
    _ body: () throws(FSError) -> R
  ) throws(StoreError) -> R {
    do throws(FSError) {
      return try body()
    } catch {
      throw StoreError(error)
    }
  }

  package var isNoSpace: Bool { FSError.store(self).isNoSpace }

  package var damage: String? {
    switch self {
    case .corrupt(let text), .rebuildable(let text): text
    case .system(let error) where error.errno == Errno.inputOutput: "\(error)"
    default: nil
    }
  }
}

extension ContentStore {
  /// Returns the bytes of holes; 0 for damaged or forgotten nodes, so that name and size can still be shown.
  package func shownZeroBytes(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      return try zeroBytes(stored)
    } catch  where error.damage != nil || error.isForgotten {
      return 0
    }
  }
}
