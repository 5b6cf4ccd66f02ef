import Grammar
import LLVSCore
import TreeNames

/// Shows and sets which versions keep their bytes.
struct KeepCommand: Command {
  static let forms = [
    CommandForm(
      "keep", "[--dry-run] [POLICY...]",
      help: """
        Shows which versions keep their bytes, or sets it: llvs keep all:30d daily:1y weekly:5y.
        That keeps every version of 30 days, of a year the last one of each day, of five years the last one of each
        week. Words are all, hourly, daily and weekly, ages have s, m, h, d, w or y, and a word without an age keeps
        forever; all keeps everything. Heads, tags, open conflicts, what undo reaches, and what a peer still lacks
        are always kept. --dry-run only tells how many versions a policy forgets and what comes free, by file and by
        month. It is the setting keep of "llvs set".
        """)
  ]

  enum Request: Hashable {
    case show
    case set(KeepPolicy)
    /// The present policy without one.
    case preview(KeepPolicy?)
  }

  let request: Request
  var title: String { "keep" }

  var effect: CommandEffect {
    if case .show = request { .query } else { .change }
  }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch request {
    case .show: return try service.showKeep()
    case .set(let policy):
      let assignment = try StoreSettings.Assignment(name: "keep", value: policy.text)
      _ = try service.set([assignment])
      return try service.showKeep()
    case .preview(let policy):
      let policy = policy ?? service.settings.keep
      let done = try service.compact(policy, isTrial: true, context)
      return CommandResult(done.text(policy), done.reply(policy))
    }
  }
}

extension KeepCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    var words = try arguments.remainingTexts()
    let isTrial = words.contains("--dry-run")
    words.removeAll { $0 == "--dry-run" }
    var policy: KeepPolicy?
    if !words.isEmpty {
      do throws(StoreError) {
        policy = try KeepPolicy(words.joined(separator: " "))
      } catch {
        throw arguments.misused(ControlError(error).message)
      }
    }
    request = isTrial ? .preview(policy) : policy.map { .set($0) } ?? .show
  }
}

extension ControlService {
  fileprivate func showKeep() throws -> CommandResult {
    let keep = settings.keep
    let forgotten = try store.forgottenVersions().count
    var lines = ["keep=\(keep.text): \(keep.clauses.joined(separator: ", "))"]
    if forgotten > 0 {
      lines.append("\(PrintableText.count(forgotten, "version")) forgotten so far")
    }
    return CommandResult(
      lines.joined(separator: "\n"), ["keep": keep.text, "forgottenVersions": forgotten])
  }
}
