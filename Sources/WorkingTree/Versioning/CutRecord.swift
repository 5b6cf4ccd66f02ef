import LLVSCore

/// What replay cannot find out of a cut that was committed and not installed: the transaction that commits the
/// cut records it, and so it is there exactly when the cut is.
///
/// As a rule there is nothing to say: then it is a few bytes.
struct CutRecord: Hashable {
  /// Which of a file's saves a cut took, where that was not the newest.
  enum Choice: UInt8 {
    /// The newest that had its quiet.
    case fallback = 0
    /// None: the base's bytes.
    case base = 1
  }

  /// The tree was carried to a version that did not come of the one that it showed.
  var leavesHistory = false
  /// See ``LiveTree/lineEpoch``.
  var lineEpoch: UInt64 = 0
  /// The versions made besides the live tree's own.
  var sides: [CutPlan.Side: VersionNumber] = [:]
  /// By inode.
  var choices: [UInt64: Choice] = [:]
  /// The files whose newest saves could not be read.
  var unreadable: Set<UInt64> = []

  private static let format: UInt8 = 1

  /// Of nothing that is out of the ordinary.
  init() {}

  init(of plan: CutPlan, _ made: CutVersions.Made, lineEpoch: UInt64, leavesHistory: Bool) {
    self.leavesHistory = leavesHistory
    self.lineEpoch = lineEpoch
    sides = made.groups
    unreadable = plan.unreadableNodes
    for item in plan.items {
      guard case .put(let state, _) = item.action else { continue }
      choices[state.node.inode] = state.choice
    }
  }

  var encoded: [UInt8] {
    var writer = RecordEncoder()
    writer.put(Self.format)
    writer.put(leavesHistory)
    writer.put(lineEpoch)
    writer.put(UInt32(truncatingIfNeeded: sides.count))
    for (side, number) in sides.sorted(by: { $0.key < $1.key }) {
      writer.put(side.predecessor?.rawValue ?? 0)
      writer.put(UInt32(truncatingIfNeeded: side.turn))
      writer.put(side.isLeft)
      writer.put(number.rawValue)
    }
    writer.put(UInt32(truncatingIfNeeded: choices.count))
    for (inode, choice) in choices.sorted(by: { $0.key < $1.key }) {
      writer.put(inode)
      writer.put(choice.rawValue)
    }
    writer.put(UInt32(truncatingIfNeeded: unreadable.count))
    for inode in unreadable.sorted() { writer.put(inode) }
    return writer.bytes
  }

  /// What was recorded; what cannot be read is as if nothing were: then what a cut took on its sides stays
  /// pending, and comes into versions once more.
  init(decoding bytes: [UInt8]) {
    var record = CutRecord()
    do throws(RecordDecoder.Malformed) {
      try record.read(bytes)
    } catch {
      return
    }
    self = record
  }

  private mutating func read(_ bytes: [UInt8]) throws(RecordDecoder.Malformed) {
    var reader = RecordDecoder(bytes)
    guard try reader.get(UInt8.self) == Self.format else { throw RecordDecoder.Malformed() }
    leavesHistory = try reader.getBool()
    lineEpoch = try reader.get()
    for _ in 0..<(try reader.get(UInt32.self)) {
      let predecessor = try reader.get(UInt32.self)
      let turn = Int(try reader.get(UInt32.self))
      let isLeft = try reader.getBool()
      let side = CutPlan.Side(
        predecessor: predecessor == 0 ? nil : VersionNumber(predecessor), turn: turn,
        isLeft: isLeft)
      sides[side] = VersionNumber(try reader.get(UInt32.self))
    }
    for _ in 0..<(try reader.get(UInt32.self)) {
      let inode = try reader.get(UInt64.self)
      guard let choice = Choice(rawValue: try reader.get()) else { throw RecordDecoder.Malformed() }
      choices[inode] = choice
    }
    for _ in 0..<(try reader.get(UInt32.self)) { unreadable.insert(try reader.get()) }
    guard reader.isAtEnd else { throw RecordDecoder.Malformed() }
  }
}
