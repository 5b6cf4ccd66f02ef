import Grammar

package enum Release {
  /// The number: `MAJOR.MINOR.PATCH`, with `-dev` until it is released. The changelog names it.
  package static let number = "0.1.0-dev"

  static func tell(_ line: CommandLine, _ console: Console) {
    if line.isJSON {
      console.tell(json: ["ok": true, "program": "llvs", "release": number])
    } else {
      console.tell("llvs \(number)")
    }
  }
}
