/// The writer of a version, to distinguish the writes of several writers: metadata `llvs.writer`, a JSON string
/// `REPLICA.NUMBER`.
///
/// INVARIANT W1: the authored versions with one writer are a line, each a descendant of the one before, so a
/// replica that knows the newest knows all. The number is that of the line's first version in this store; a version
/// that does not descend from the last one begins a line. A copied or restored store has another replica id.
struct WriterLine: Hashable {
  var number: UInt32
  var last: VersionNumber

  /// The setting that keeps the line between runs.
  static let setting = "writer"

  init(number: UInt32, last: VersionNumber) {
    self.number = number
    self.last = last
  }

  /// Decodes ``encoded``; nil for anything else.
  init?(decoding bytes: [UInt8]?) {
    guard let bytes else { return nil }
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    guard words.count == 2, let number = UInt32(words[0]), let last = UInt32(words[1]) else {
      return nil
    }
    self.init(number: number, last: VersionNumber(last))
  }

  var encoded: [UInt8] { Array("\(number) \(last.rawValue)".utf8) }
}

extension Version.MetadataKey {
  package static let writer = Version.MetadataKey("llvs.writer")
}

extension WriteTransaction {
  /// The metadata of the writer of an authored version, the next one to be added.
  /// - Complexity: O(1) if a predecessor is the writer's last version; else O(the predecessors' ancestors that are
  ///   younger than that).
  func writer(
    of number: VersionNumber, after predecessors: [VersionNumber]
  ) throws(StoreError) -> Version.MetadataValue {
    var line = try writerLine() ?? WriterLine(number: number.rawValue, last: number)
    if line.last != number, try !predecessors.contains(descendantOf: line.last, in: self) {
      line.number = number.rawValue
    }
    line.last = number
    set(WriterLine.setting, to: line.encoded)
    return Version.MetadataValue("\(store.replicaID).\(line.number)")
  }

  private func writerLine() throws(StoreError) -> WriterLine? {
    var setting = settings.last { $0.0 == WriterLine.setting }?.1
    if setting == nil { setting = try store.state().settings[WriterLine.setting] }
    // A line must end in a version of this store.
    guard let line = WriterLine(decoding: setting), try version(line.last) != nil else {
      return nil
    }
    return line
  }
}

extension [VersionNumber] {
  fileprivate func contains(
    descendantOf last: VersionNumber, in transaction: WriteTransaction
  ) throws(StoreError) -> Bool {
    for number in self {
      if number == last { return true }
      let isCommitted = number.rawValue <= transaction.store.lastNumber
      let graph = isCommitted ? transaction.store.graph : transaction.graph
      if try graph.isAncestorOrSelf(last, of: number) { return true }
    }
    return false
  }
}
