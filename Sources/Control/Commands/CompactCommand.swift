import Grammar
import LLVSCore
import Platform
import TreeNames

/// Forgets the bytes of the versions that the setting `keep` does not keep.
struct CompactCommand: Command {
  static let forms = [
    CommandForm(
      "compact", "[--dry-run]",
      help: """
        Forgets the bytes of old versions that "llvs keep" does not keep, and frees their space.
        Their names, attributes and messages stay. Peers keep what they have. An interrupted run is continued by the
        next one. A mount does this by itself when it is quiet. --dry-run only tells what would come free.
        """)
  ]

  var isDryRun = false
  var title: String { isDryRun ? "compact --dry-run" : "compact" }
  var effect: CommandEffect { .change }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let keep = service.settings.keep
    let done = try service.compact(keep, isTrial: isDryRun, context)
    return CommandResult(done.text(keep), done.reply(keep))
  }
}

extension CompactCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    isDryRun = arguments.takes("--dry-run")
  }
}

extension Compaction {
  func text(_ keep: KeepPolicy) -> String {
    var lines: [String] = []
    if let preview {
      let versions = PrintableText.count(report.newlyForgotten, "version")
      let bytes = ByteCount.text(report.freeableBytes)
      let rest = report.forgotten - report.newlyForgotten
      let isNothing =
        report.newlyForgotten == 0 && report.goneBytes == 0 && report.freeableBytes == 0
      let isLeft = report.newlyForgotten == 0 && report.goneBytes == 0
      lines.append(
        isNothing
          ? "nothing to forget with keep=\(keep.text)"
          : isLeft
            ? "an interrupted run left \(bytes) of forgotten versions to free"
            : "keep=\(keep.text) forgets \(versions) and frees \(bytes)"
              + (rest > 0 ? "; \(PrintableText.count(rest, "version")) forgotten before" : ""))
      if report.freeableBytes < report.goneBytes / 10 * 9 {
        lines.append(
          "the versions have \(ByteCount.text(report.goneBytes)), but only whole blocks of the disk come free"
        )
      }
      lines += preview.lines
    } else if report.newlyForgotten == 0, report.freedBytes == 0, report.goneBytes == 0 {
      let hint = keep.keepsEverything ? "; \"llvs help keep\" says how to keep less" : ""
      lines.append("nothing to forget with keep=\(keep.text)\(hint)")
    } else {
      lines.append(ControlService.text(of: report))
    }
    return (lines + notes).joined(separator: "\n")
  }

  func reply(_ keep: KeepPolicy) -> ReplyValue {
    [
      "keep": keep.text, "versions": report.newlyForgotten,
      "forgottenVersions": report.forgotten, "bytes": report.goneBytes,
      "freedBytes": preview == nil ? report.freedBytes : report.freeableBytes,
      "lacksHoles": report.lacksHoles, "notes": notes,
    ] + (preview?.reply ?? [:])
  }
}
