import LLVSCore
import Platform
package import TreeNames

// The kinds of errors that the tree treats apart.

extension FSError {
  /// True if the disk is full, or the user's part of it.
  var isNoSpace: Bool {
    switch self {
    case .noSpace, .store(.noSpace): true
    case .system(let error), .store(.system(let error)):
      error.errno == Errno.noSpace || error.errno == Errno.quota
    default: false
    }
  }

  /// The damage, in words; nil for every other error.
  package var damage: String? {
    switch self {
    case .store(.corrupt(let text)): text
    case .system(let error), .store(.system(let error)):
      error.errno == Errno.inputOutput ? "\(error)" : nil
    default: nil
    }
  }
}
