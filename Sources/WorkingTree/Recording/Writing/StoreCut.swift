import Inodes
package import LLVSCore
import Platform
import TreeNames

/// The number of the last cut that a store has, which the transaction of the cut sets.
package enum StoreCut {
  private static let setting = "live.cut"

  /// Returns the number; 0 if there was no cut.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if it is not what was written.
  package static func last(in store: Store) throws(StoreError) -> UInt64 {
    let state = try store.state()
    let bytes = state.settings[setting]
    let isLost = bytes == nil && state.head != nil && !state.damagedSettings.isEmpty
    guard !isLost, !state.damagedSettings.contains(setting) else {
      throw .corrupt("\(store.path)/store.sqlite: the setting \(setting) is not what was written")
    }
    guard let bytes else { return 0 }
    guard let number = UInt64(String(decoding: bytes, as: UTF8.self)) else {
      throw .corrupt("\(store.path)/store.sqlite: the setting \(setting) is no number")
    }
    return number
  }

  /// Sets the number in the transaction that commits the cut.
  package static func set(_ number: UInt64, in transaction: WriteTransaction) {
    transaction.set(setting, to: Array(String(number).utf8))
  }
}
