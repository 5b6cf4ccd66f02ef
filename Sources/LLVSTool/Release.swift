import Grammar

/// The release of the program.
package enum Release {
  /// The number: `MAJOR.MINOR.PATCH`, with `-dev` until it is released. The changelog names it.
  package static let number = "0.1.0-dev"

  /// The line that `llvs --version` prints.
  static func text(inJSON: Bool) -> String {
    guard inJSON else { return "llvs \(number)" }
    return ReplyValue.record([
      ReplyField("ok", .flag(true)), ReplyField("program", "llvs"), ReplyField("release", number),
    ]).json
  }
}
