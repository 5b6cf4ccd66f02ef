// Second copies of the rows without which a store does not open.
//
// INVARIANT: a copy is written by the transaction that writes its row. It is used only where the row is
//   not what was written and the copy is; a writer puts the row right then, and says so.
//
// Properties and counters have theirs beside them, under the name with a `~`. The newest entry of the log
// of heads and the live tree's own settings have theirs in one property: they belong together.

/// The newest entry of the log of heads, and the settings that go with it.
private struct Essentials {
  var head: HeadLogEntry
  var settings: [(name: String, value: [UInt8])]
}

extension Catalog {
  static let properties = ["store", "replica", "identity", linksProperty]
  private static let essentials = "essentials"
  /// How far a counter's copy goes ahead: an older program, which knows no copies, may have counted on.
  private static let margin: Int64 = 1 << 30

  static func copy(of name: String) -> String { name + "~" }

  /// Whether a setting is the live tree's own, not a user's.
  static func isOwn(setting name: String) -> Bool { name.hasPrefix("live.") }

  /// What a row holds, looked for in its copy where the row is damaged or gone.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` where neither is what was written.
  func essential<Value>(
    _ name: String, of what: String, _ find: (String) throws(StoreError) -> Found<Value>
  ) throws(StoreError) -> (value: Value?, isMended: Bool) {
    let row = try find(name)
    if case .sound(let value) = row { return (value, false) }
    if case .sound(let value) = try find(Catalog.copy(of: name)) { return (value, true) }
    guard case .absent = row else {
      throw .corrupt("\(path): the \(what) \(name) is not what was written, nor is its copy")
    }
    return (nil, false)
  }

  /// A row of properties or counters.
  enum Found<Value> {
    case absent, damaged
    case sound(Value)
  }

  // MARK: What the live tree stands on

  /// Keeps the newest entry of the log of heads and the live tree's settings a second time.
  func keepEssentials(in database: StoreDatabase) throws(StoreError) {
    guard let head = try headLog(before: .max, limit: 1, in: database).first else { return }
    let own = try settings(in: database).sound.filter { Catalog.isOwn(setting: $0.key) }
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt64(bitPattern: head.sequence))
    bytes.append(bigEndian: UInt64(bitPattern: head.time))
    bytes.append(bigEndian: head.version?.rawValue ?? 0)
    bytes.append((head.map == nil ? 0 : 1) as UInt8)
    if let map = head.map { bytes.append(map) }
    bytes.append(counted: Array(head.reason.utf8))
    bytes.append(bigEndian: UInt32(own.count))
    for (name, value) in own.sorted(by: { $0.key < $1.key }) {
      bytes.append(counted: Array(name.utf8))
      bytes.append(counted: value)
    }
    try setProperty(Catalog.essentials, bytes, in: database)
  }

  /// The copy, where it is of the newest entry.
  private func keptEssentials(in database: StoreDatabase) throws(StoreError) -> Essentials? {
    guard hasSums, case .sound(let bytes) = try found(property: Catalog.essentials, in: database)
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
          reason: String(decoding: reason, as: UTF8.self)), settings: settings)
    }
    // A program that knows no copies may have gone on since.
    let newest = try database.integer("SELECT max(sequence) FROM head_log")
    return kept.flatMap { $0.head.sequence == newest ? $0 : nil }
  }

  /// The newest entry of the log of heads; `isMended` where it is the copy's.
  func newestHead(
    in database: StoreDatabase
  ) throws(StoreError) -> (entry: HeadLogEntry?, isMended: Bool) {
    do throws(StoreError) {
      return (try headLog(before: .max, limit: 1, in: database).first, false)
    } catch {
      guard case .corrupt = error, let kept = try keptEssentials(in: database) else { throw error }
      return (kept.head, true)
    }
  }

  /// What stands for an entry of the log of heads: itself, its copy, or nothing where it is damaged, of which
  /// `tell` hears.
  private func sound(
    _ sequence: Int64, _ entry: Result<HeadLogEntry, StoreError>, in database: StoreDatabase,
    _ tell: (String) -> Void
  ) throws(StoreError) -> HeadLogEntry? {
    do throws(StoreError) {
      return try entry.get()
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      if let kept = try keptEssentials(in: database), kept.head.sequence == sequence {
        return kept.head
      }
      tell(reason + "; it is passed over")
      return nil
    }
  }

  /// The newest entries of the log of heads with a smaller sequence number, newest first, without those
  /// that are not what was written, of which `tell` hears.
  func headLog(
    before sequence: Int64, limit: Int, in database: StoreDatabase,
    passingOver tell: (String) -> Void
  ) throws(StoreError) -> [HeadLogEntry] {
    var entries: [HeadLogEntry] = []
    guard limit > 0 else { return entries }
    try forEachHead(before: sequence, in: database) { (number, entry) throws(StoreError) in
      if let sound = try sound(number, entry, in: database, tell) { entries.append(sound) }
      return entries.count < limit
    }
    return entries
  }

  /// The newest sound entry at or before a time.
  func head(
    at time: Int64, in database: StoreDatabase, passingOver tell: (String) -> Void
  ) throws(StoreError) -> HeadLogEntry? {
    var found: HeadLogEntry?
    try forEachHead(notAfter: time, in: database) { (number, entry) throws(StoreError) in
      found = try sound(number, entry, in: database, tell)
      return found == nil
    }
    return found
  }

  /// Settings of the live tree that the table has lost, from the copy.
  func lostSettings(
    besides sound: [String: [UInt8]], in database: StoreDatabase
  ) throws(StoreError) -> [(name: String, value: [UInt8])] {
    try keptEssentials(in: database)?.settings.filter { sound[$0.name] == nil } ?? []
  }

  // MARK: Putting rows right

  /// Puts right what has a copy, and gives copies to what has none, in a writer's transaction.
  ///
  /// - Returns: a sentence without its period for each row that was not what had been written.
  func mend(in database: StoreDatabase) throws(StoreError) -> [String] {
    var mended: [String] = []
    for name in Catalog.properties {
      let (value, isMended) = try essential(name, of: "property") { (name) throws(StoreError) in
        try found(property: name, in: database)
      }
      if case .damaged = try found(property: Catalog.copy(of: name), in: database) {
        mended.append("properties: the row \"\(Catalog.copy(of: name))\"")
      }
      if let value { try setProperty(name, value, in: database) }
      if isMended { mended.append("properties: the row \"\(name)\"") }
    }
    if case .damaged = try found(property: Catalog.essentials, in: database) {
      mended.append("properties: the row \"\(Catalog.essentials)\"")
    }
    for kind in Counters.Kind.allCases {
      let (value, isMended) = try counter(kind, in: database)
      let copy = Catalog.copy(of: kind.rawValue)
      if case .damaged = try found(counter: copy, in: database) {
        mended.append("counters: the row \"\(copy)\"")
      }
      try setCounter(kind, value, in: database)
      if isMended { mended.append("counters: the row \"\(kind.rawValue)\"") }
    }
    let (head, isHeadMended) = try newestHead(in: database)
    if isHeadMended, let head {
      // The index by time may differ from the row, which a change of the row would trip over.
      try database.execute("DROP INDEX head_log_by_time")
      try set(head, in: database)
      try database.execute("CREATE INDEX head_log_by_time ON head_log(time)")
      mended.append("head_log: the row \(head.sequence)")
    }
    let stored = try settings(in: database)
    if !stored.damaged.isEmpty {
      for (name, value) in try lostSettings(besides: stored.sound, in: database) {
        // Its name may be what is damaged.
        try database.prepared(
          """
          DELETE FROM settings WHERE value = ? AND length(name) = ?
          AND sum IS NOT llvs_sum(name, value)
          """
        ).bind(1, value).bind(2, Int64(name.utf8.count)).run()
        try setSetting(name, value, in: database)
        mended.append("settings: the row \"\(name)\"")
      }
    }
    try keepEssentials(in: database)
    // What is left of these is there again under its right name.
    for table in ["properties", "counters"] {
      try database.execute("DELETE FROM \(table) WHERE sum IS NOT llvs_sum(name, value)")
    }
    return mended.map {
      "store.sqlite, \($0) was not what was written and is put right by its copy"
    }
  }

  /// Whether ``mend(in:)`` has anything to do.
  func needsMending(in database: StoreDatabase) throws(StoreError) -> Bool {
    for name in Catalog.properties + [Catalog.essentials] {
      if case .damaged = try found(property: name, in: database) { return true }
    }
    for name in Catalog.properties {
      let copy = Catalog.copy(of: name)
      let (row, again) = (
        try found(property: name, in: database), try found(property: copy, in: database)
      )
      switch (row, again) {
      case (.sound, .sound), (.absent, .absent): break
      default: return true
      }
    }
    for kind in Counters.Kind.allCases where try needsMending(kind, in: database) { return true }
    if try newestHead(in: database).isMended { return true }
    let stored = try settings(in: database)
    guard !stored.damaged.isEmpty else { return false }
    return try !lostSettings(besides: stored.sound, in: database).isEmpty
  }

  // MARK: Counters

  /// A counter: 0 where it never counted.
  ///
  /// - Throws: ``StoreError/corrupt(_:)``: a counter that fell back would give numbers out twice.
  func counter(
    _ kind: Counters.Kind, in database: StoreDatabase
  ) throws(StoreError) -> (value: Int64, isMended: Bool) {
    let (value, isMended) = try essential(kind.rawValue, of: "counter") {
      (name) throws(StoreError) in
      try found(counter: name, in: database)
    }
    let ahead = isMended ? Catalog.margin : 0
    return (min(value ?? 0, .max - ahead) + ahead, isMended)
  }

  private func needsMending(
    _ kind: Counters.Kind, in database: StoreDatabase
  ) throws(StoreError) -> Bool {
    let copy = Catalog.copy(of: kind.rawValue)
    let (row, again) = (
      try found(counter: kind.rawValue, in: database), try found(counter: copy, in: database)
    )
    return switch (row, again) {
    case (.sound, .sound), (.absent, .absent): false
    default: true
    }
  }
}
