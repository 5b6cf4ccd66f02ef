package import LLVSCore
import Platform

// The kinds of errors that callers treat apart.

extension SystemError {
  /// True if the disk is full, or the user's part of it.
  fileprivate var isOfFullDisk: Bool { errno == Errno.noSpace || errno == Errno.quota }
}

extension FSError {
  /// True if the disk is full, or the user's part of it.
  package var isNoSpace: Bool {
    switch self {
    case .noSpace, .store(.noSpace): true
    case .system(let error), .store(.system(let error)): error.isOfFullDisk
    default: false
    }
  }

  /// The damage, in words; nil for every other error.
  package var damage: String? {
    switch self {
    case .store(let error): error.damage
    case .system(let error): StoreError.system(error).damage
    default: nil
    }
  }
}

extension StoreError {
  /// True if the disk is full, or the user's part of it.
  package var isNoSpace: Bool { FSError.store(self).isNoSpace }

  /// The damage, in words; nil for every other error.
  package var damage: String? {
    switch self {
    case .corrupt(let text): text
    case .system(let error) where error.errno == Errno.inputOutput: "\(error)"
    default: nil
    }
  }
}

extension ContentStore {
  /// Returns the number of bytes of a value that are zeros that take no room; 0 where its nodes are damaged: its
  /// name and size are shown all the same, and who reads it is told.
  ///
  /// - Throws: the error of the disk for anything but damage.
  /// - Complexity: that of ``zeroBytes(_:)``.
  package func shownZeroBytes(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      return try zeroBytes(stored)
    } catch {
      guard error.damage != nil else { throw error }
      return 0
    }
  }
}
