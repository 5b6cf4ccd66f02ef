import Grammar
import HistoryTree
import LLVSCore
import Reports

struct DiffWriter {
  enum Form { case patch, stat, nameStatus, nameOnly }

  private let form: Form
  private let isJSON: Bool
  private let patch: (TreeDifference) throws -> [UInt8]
  private let console: Console
  private let unified: UnifiedDiff
  private var stat: DiffStat
  private let isPatchWanted: Bool
  private(set) var count = 0
  /// The compared versions; nil for the live tree, or an empty one.
  var sides: (old: VersionRecord?, new: VersionRecord?) = (nil, nil)
  private var missing: MissingBytes?
  /// True if the bytes of a side of a difference are forgotten.
  var lacksBytes: Bool { missing.map { $0.count > 0 } ?? false }

  /// `standard` is the default form. Patches contain binary bytes on request, or off a terminal for applying.
  init(
    _ line: CommandLine, _ console: Console, standard: Form, isToApply: Bool = false,
    indent: String = "", store: Store? = nil
  ) throws {
    missing = store.map { MissingBytes($0) }
    let asked: [Form] = [
      line.has("patch") || line.has("unified") ? .patch : nil, line.has("stat") ? .stat : nil,
      line.has("name-status") ? .nameStatus : nil, line.has("name-only") ? .nameOnly : nil,
    ].compactMap(\.self)
    guard asked.count <= 1 else { throw UsageError("one form of differences at a time") }
    form = asked.first ?? standard
    isJSON = line.isJSON
    self.console = console
    let style = try console.style(line)
    unified = UnifiedDiff(
      style: style, context: try line.number("unified", atMost: 1_000_000) ?? 3,
      writesBytes: line.has("binary") || isToApply && !console.isTerminal,
      emit: { console.stream($0) })
    let context = try line.number("unified", atMost: 1_000_000) ?? 3
    let writesBytes = line.has("binary")
    patch = { difference in
      var bytes: [UInt8] = []
      let plain = UnifiedDiff(
        style: TextStyle(isOn: false), context: context, writesBytes: writesBytes,
        emit: { bytes += $0 })
      try plain.write(difference)
      return bytes
    }
    isPatchWanted = asked.first == .patch
    stat = DiffStat(
      style: style, columns: console.columns, indent: indent, emit: { console.stream(line: $0) })
  }

  mutating func write(_ difference: TreeDifference) throws {
    count += 1
    guard !isJSON else {
      console.stream(json: try record(difference))
      return
    }
    do {
      switch form {
      case .patch: try unified.write(difference)
      case .stat: try stat.add(difference)
      case .nameStatus: console.stream(line: difference.text)
      case .nameOnly: console.stream(line: difference.shownPath)
      }
    } catch let error as StoreError where error.isForgotten {
      try note(missing: difference, error)
      if form == .stat {
        try stat.add(difference, lacksBytes: true)
      } else {
        unified.write(withoutBytes: difference)
      }
    }
  }

  private mutating func note(missing difference: TreeDifference, _ error: StoreError) throws {
    guard missing != nil else { throw error }
    let images = [(difference.old, sides.old), (difference.new, sides.new)]
    for (index, (image, record)) in images.enumerated() {
      guard let image, let record, try image.lacksBytes() else { continue }
      let path = index == 0 ? difference.renamedFrom ?? difference.path : difference.path
      try missing?.add(path, of: record)
    }
  }

  mutating func record(_ difference: TreeDifference) throws -> ReplyValue {
    do {
      let counts = form == .stat ? try ContentPair(difference.old, difference.new).counts : nil
      let patch: ReplyValue = isPatchWanted ? ["patch": ReplyBytes(try patch(difference))] : [:]
      return difference.reply(counts: counts) + patch
    } catch let error as StoreError where error.isForgotten {
      try note(missing: difference, error)
      return difference.reply(counts: .forgotten)
    }
  }

  mutating func finish() {
    if form == .stat, !isJSON { stat.finish() }
    if let missing { console.complain(about: missing) }
  }
}
