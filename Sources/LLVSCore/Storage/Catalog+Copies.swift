// Second copies of the rows that opening a store needs.
//
// INVARIANT S10: the transaction that writes a row writes its copy. A copy is used only if the row is damaged and
// the copy is not; a writer then repairs the row and reports it.
//
// The copies of properties and counters are next to them, under the name with a `~`. The newest entry of the log of
// heads and the live tree's own settings have one property as their copy, as they belong together.

/// The newest entry of the log of heads, and the live tree's own settings.
private struct Essentials {
  var head: HeadLogEntry
  var settings: [(name: String, value: [UInt8])]
}

extension StoreDatabase {
  static let properties = ["store", "replica", "identity"]
  private static let essentials = "essentials"

  static func copy(of name: String) -> String { name + "~" }

  /// Returns true if a setting is one of the live tree's own, not one of a user.
  static func isOwn(setting name: String) -> Bool { name.hasPrefix("live.") }

  /// Returns the value of a row, or of its copy if the row is damaged or missing.
  func essential<Value>(
    _ name: String, of what: String, _ find: (String) throws(StoreError) -> Found<Value>
  ) throws(StoreError) -> (value: Value?, isMended: Bool) {
    let row = try find(name)
    if case .sound(let value) = row { return (value, false) }
    if case .sound(let value) = try find(StoreDatabase.copy(of: name)) { return (value, true) }
    guard case .absent = row else {
      throw .corrupt("\(path): the \(what) \(name) is not what was written, nor is its copy")
    }
    return (nil, false)
  }

  enum Found<Value> {
    case absent, damaged
    case sound(Value)

    /// True if a row and its copy are both sound or both absent.
    func agrees(with copy: Found) -> Bool {
      switch (self, copy) {
      case (.sound, .sound), (.absent, .absent): true
      default: false
      }
    }
  }

  func keepEssentials() throws(StoreError) {
    guard let head = try headLog(before: .max, limit: 1).first else { return }
    let own = try settings().sound.filter { StoreDatabase.isOwn(setting: $0.key) }
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt64(bitPattern: head.sequence))
    bytes.append(bigEndian: UInt64(bitPattern: head.time))
    bytes.append(bigEndian: head.version?.rawValue ?? 0)
    bytes.append((head.map == nil ? 0 : 1) as UInt8)
    if let map = head.map { bytes.append(map) }
    bytes.append(counted: Array(head.reason.text.utf8))
    bytes.append(bigEndian: UInt32(own.count))
    for (name, value) in own.sorted(by: { $0.key < $1.key }) {
      bytes.append(counted: Array(name.utf8))
      bytes.append(counted: value)
    }
    try setProperty(StoreDatabase.essentials, bytes)
  }

  /// Returns the copy if it belongs to the newest entry.
  private func keptEssentials() throws(StoreError) -> Essentials? {
    guard case .sound(let bytes) = try found(property: StoreDatabase.essentials)
    else { return nil }
    let kept = bytes.parsed { reader -> Essentials? in
      guard let sequence = reader.integer(UInt64.self), let time = reader.integer(UInt64.self),
        let number = reader.integer(UInt32.self), let hasMap = reader.integer(UInt8.self)
      else { return nil }
      var map: MapRoot?
      if hasMap == 1 {
        guard let root = reader.mapRoot() else { return nil }
        map = root
      }
      guard let reason = reader.counted(atMost: 1 << 20), let count = reader.integer(UInt32.self)
      else { return nil }
      var settings: [(String, [UInt8])] = []
      for _ in 0..<count {
        guard let name = reader.counted(atMost: 1 << 20),
          let value = reader.counted(atMost: 1 << 20)
        else { return nil }
        settings.append((String(decoding: name, as: UTF8.self), Array(value)))
      }
      return Essentials(
        head: HeadLogEntry(
          sequence: Int64(bitPattern: sequence), time: Int64(bitPattern: time),
          version: number == 0 ? nil : VersionNumber(number), map: map,
          reason: HeadReason(text: String(decoding: reason, as: UTF8.self))), settings: settings)
    }
    // The copy must not belong to an older entry.
    let newest = try integer("SELECT max(sequence) FROM head_log")
    return kept.flatMap { $0.head.sequence == newest ? $0 : nil }
  }

  /// Returns the newest entry of the log of heads; `isMended` is true if it is from the copy.
  func newestHead() throws(StoreError) -> (entry: HeadLogEntry?, isMended: Bool) {
    do throws(StoreError) {
      return (try headLog(before: .max, limit: 1).first, false)
    } catch {
      guard case .corrupt = error, let kept = try keptEssentials() else { throw error }
      return (kept.head, true)
    }
  }

  /// Returns an entry of the log of heads, or its copy; nil, with a report, if both are damaged.
  private func sound(
    _ sequence: Int64, _ entry: Result<HeadLogEntry, StoreError>,
    _ report: (String) -> Void
  ) throws(StoreError) -> HeadLogEntry? {
    do throws(StoreError) {
      return try entry.get()
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      if let kept = try keptEssentials(), kept.head.sequence == sequence { return kept.head }
      report(reason + "; it is passed over")
      return nil
    }
  }

  /// Returns the newest entries of the log of heads with a smaller sequence number, newest first.
  /// Damaged entries without a copy are left out and passed to `report`.
  func headLog(
    before sequence: Int64, limit: Int,
    passingOver report: (String) -> Void
  ) throws(StoreError) -> [HeadLogEntry] {
    var entries: [HeadLogEntry] = []
    guard limit > 0 else { return entries }
    try forEachHead(in: heads(before: sequence)) { (number, entry) throws(StoreError) in
      if let sound = try sound(number, entry, report) { entries.append(sound) }
      return entries.count < limit
    }
    return entries
  }

  func head(
    at time: Int64, passingOver report: (String) -> Void
  ) throws(StoreError) -> HeadLogEntry? {
    var found: HeadLogEntry?
    try forEachHead(in: heads(notAfter: time)) { (number, entry) throws(StoreError) in
      found = try sound(number, entry, report)
      return found == nil
    }
    return found
  }

  func lostSettings(
    besides sound: [String: [UInt8]]
  ) throws(StoreError) -> [(name: String, value: [UInt8])] {
    try keptEssentials()?.settings.filter { sound[$0.name] == nil } ?? []
  }

  /// Repairs rows from their copies and writes missing copies, in a writer's transaction.
  func mend() throws(StoreError) -> [String] {
    var mended: [String] = []
    for name in try propertiesKeptTwice() {
      let (value, isMended) = try mendable(property: name)
      if case .damaged = try found(property: StoreDatabase.copy(of: name)) {
        mended.append("properties: the row \"\(StoreDatabase.copy(of: name))\"")
      }
      if let value { try setProperty(name, value) }
      if isMended { mended.append("properties: the row \"\(name)\"") }
    }
    if case .damaged = try found(property: StoreDatabase.essentials) {
      mended.append("properties: the row \"\(StoreDatabase.essentials)\"")
    }
    for kind in Counters.Kind.allCases {
      let (value, isMended) = try counter(kind)
      let copy = StoreDatabase.copy(of: kind.rawValue)
      if case .damaged = try found(counter: copy) { mended.append("counters: the row \"\(copy)\"") }
      try setCounter(kind, value)
      if isMended { mended.append("counters: the row \"\(kind.rawValue)\"") }
    }
    let (head, isHeadMended) = try newestHead()
    if isHeadMended, let head {
      // The index by time may contradict the row, and changing the row would then fail.
      try execute("DROP INDEX head_log_by_time")
      try set(head)
      try execute("CREATE INDEX head_log_by_time ON head_log(time)")
      mended.append("head_log: the row \(head.sequence)")
    }
    let stored = try settings()
    if !stored.damaged.isEmpty {
      for (name, value) in try lostSettings(besides: stored.sound) {
        // The damaged part may be the setting's name.
        try prepared(
          """
          DELETE FROM settings WHERE value = ? AND length(name) = ?
          AND sum IS NOT llvs_sum(name, value)
          """
        ).bind(1, value).bind(2, Int64(name.utf8.count)).run()
        try setSetting(name, value)
        mended.append("settings: the row \"\(name)\"")
      }
    }
    try keepEssentials()
    // Rows that are still damaged exist again under their right names.
    for table in ["properties", "counters"] {
      try execute("DELETE FROM \(table) WHERE sum IS NOT llvs_sum(name, value)")
    }
    return mended.map {
      "store.sqlite, \($0) was not what was written and is repaired from its copy"
    }
  }

  /// Returns a property, from its copy if its row is damaged, or what can be said if both are.
  private func mendable(
    property name: String
  ) throws(StoreError) -> (value: [UInt8]?, isMended: Bool) {
    do throws(StoreError) {
      return try essential(name, of: "property") { (name) throws(StoreError) in
        try found(property: name)
      }
    } catch {
      guard case .corrupt = error, let value = StoreDatabase.lost(property: name) else {
        throw error
      }
      return (value, false)
    }
  }

  /// Returns true if ``mend()`` would change anything.
  func needsMending() throws(StoreError) -> Bool {
    if case .damaged = try found(property: StoreDatabase.essentials) { return true }
    for name in try propertiesKeptTwice() {
      let row = try found(property: name)
      if try !row.agrees(with: found(property: StoreDatabase.copy(of: name))) { return true }
    }
    for kind in Counters.Kind.allCases {
      let row = try found(counter: kind.rawValue)
      if try !row.agrees(with: found(counter: StoreDatabase.copy(of: kind.rawValue))) {
        return true
      }
    }
    if try newestHead().isMended { return true }
    let stored = try settings()
    guard !stored.damaged.isEmpty else { return false }
    return try !lostSettings(besides: stored.sound).isEmpty
  }

  /// Returns a counter's value; 0 if it never counted.
  /// - Throws: ``StoreError/corrupt(_:)`` if row and copy are damaged, because a restarted counter repeats numbers.
  func counter(_ kind: Counters.Kind) throws(StoreError) -> (value: Int64, isMended: Bool) {
    let (value, isMended) = try essential(kind.rawValue, of: "counter") {
      (name) throws(StoreError) in
      try found(counter: name)
    }
    return (value ?? 0, isMended)
  }
}
