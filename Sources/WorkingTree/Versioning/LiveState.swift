import LLVSCore

/// What the store knows of the live tree: written by the transaction that changes the head.
struct LiveState {
  /// The version the tree continues from.
  var head: VersionNumber?
  /// The head's map with the live tree's inode numbers.
  var map: ValueMap
  /// The last cut that was committed; its mark is in the journal.
  var cut: UInt64
  /// The version that holds what that cut took, where it made one on the head of its time.
  var ownVersion: VersionNumber?
  /// What else is to be known of that cut.
  var record: CutRecord

  /// Numbers from here on were allotted after the last head was set, so no name has borne them.
  var freshInodes: UInt64

  private static let freshSetting = "live.fresh"
  private static let cutSetting = "live.cut"
  private static let ownSetting = "live.own"
  private static let recordSetting = "live.record"

  init(of store: Store) throws(StoreError) {
    let state = try store.state()
    // Without them what is pending would be laid over another head than it was made on.
    let needed = [Self.cutSetting, Self.freshSetting, Self.ownSetting]
    // A name may be what is damaged.
    let isLost = state.head != nil && state.settings[Self.cutSetting] == nil
    for name in state.damagedSettings where isLost || needed.contains(name) {
      throw .corrupt("\(store.path)/store.sqlite: the setting \(name) is not what was written")
    }
    head = state.head
    map = store.map(state.headMap ?? .empty)
    cut = Self.number(state.settings[Self.cutSetting]) ?? 0
    freshInodes = Self.number(state.settings[Self.freshSetting]) ?? 0
    ownVersion = Self.number(state.settings[Self.ownSetting]).map {
      VersionNumber(UInt32(truncatingIfNeeded: $0))
    }
    record = state.settings[Self.recordSetting].map { CutRecord(decoding: $0) } ?? CutRecord()
  }

  private static func number(_ bytes: [UInt8]?) -> UInt64? {
    bytes.flatMap { UInt64(String(decoding: $0, as: UTF8.self)) }
  }

  /// Records a cut in the transaction that commits it.
  static func record(
    cut: UInt64, ownVersion: VersionNumber?, _ record: CutRecord,
    in transaction: WriteTransaction
  ) throws(StoreError) {
    let fresh = try transaction.allotInodes()
    transaction.set(freshSetting, to: Array(String(fresh).utf8))
    transaction.set(cutSetting, to: Array(String(cut).utf8))
    transaction.set(
      ownSetting, to: ownVersion.map { Array(String($0.rawValue).utf8) })
    transaction.set(recordSetting, to: record == CutRecord() ? nil : record.encoded)
  }
}
