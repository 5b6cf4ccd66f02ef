import Grammar
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

  /// `standard` is the default form. Patches contain binary bytes on request, or off a terminal for applying.
  init(
    _ line: CommandLine, _ console: Console, standard: Form, isToApply: Bool = false,
    indent: String = ""
  ) throws {
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
    switch form {
    case .patch: try unified.write(difference)
    case .stat: try stat.add(difference)
    case .nameStatus: console.stream(line: difference.text)
    case .nameOnly: console.stream(line: difference.shownPath)
    }
  }

  func record(_ difference: TreeDifference) throws -> ReplyValue {
    let counts = form == .stat ? try ContentPair(difference.old, difference.new).counts : nil
    let patch: ReplyValue = isPatchWanted ? ["patch": ReplyBytes(try patch(difference))] : [:]
    return difference.reply(counts: counts) + patch
  }

  mutating func finish() {
    if form == .stat, !isJSON { stat.finish() }
  }
}
