package import LLVSCore
import Platform

extension SystemError {
  fileprivate var isOfFullDisk: Bool { errno == Errno.noSpace || errno == Errno.quota }
}

extension FSError {
  /// True if the disk or the user's quota is full.
  package var isNoSpace: Bool {
    switch self {
    case .noSpace, .store(.noSpace): true
    case .system(let error), .store(.system(let error)): error.isOfFullDisk
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
  /// Returns the bytes of holes; 0 for damaged nodes, so that name and size can still be shown.
  package func shownZeroBytes(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      return try zeroBytes(stored)
    } catch  where error.damage != nil {
      return 0
    }
  }
}
