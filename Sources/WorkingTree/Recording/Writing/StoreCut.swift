package import LLVSCore

/// The number of a store's last cut, which the cut's transaction sets.
package enum StoreCut {
  private static let setting = "live.cut"

  /// 0 if there was no cut.
  /// - Throws: ``StoreError/corrupt(_:)`` if the number is damaged.
  package static func last(in store: Store) throws(StoreError) -> UInt64 {
    let state = try store.state()
    let bytes = state.settings[setting]
    let isLost = bytes == nil && state.head != nil && !state.damagedSettings.isEmpty
    guard !isLost, !state.damagedSettings.contains(setting) else {
      throw .corrupt("\(store.path)/store.sqlite: the setting \(setting) is not what was written")
    }
    guard let bytes else { return 0 }
    guard let number = UInt64(String(decoding: bytes, as: UTF8.self))
    else { throw .corrupt("\(store.path)/store.sqlite: the setting \(setting) is no number") }
    return number
  }

  package static func set(_ number: UInt64, in transaction: WriteTransaction) {
    transaction.set(setting, to: Array(String(number).utf8))
  }
}
