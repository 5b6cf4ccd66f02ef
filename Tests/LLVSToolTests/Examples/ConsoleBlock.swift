/// A block of a page that shows commands and what they print: fenced by "```console".
///
/// A line that begins with `$ ` is a command, and lines behind it that begin with `> ` go on with it.
/// The others are what it prints. In these `…` stands for anything within a line, and a line `...`
/// for any lines.
struct ConsoleBlock {
  /// One command and what the page says that it prints.
  struct Step {
    /// The number of its line in the page, counted from 1.
    let line: Int
    /// The command, which may have several lines.
    var command: String
    /// What it prints, line by line.
    var output: [String] = []
  }

  /// The commands in their order.
  private(set) var steps: [Step] = []

  /// Finds the blocks of a page.
  static func blocks(of page: String) -> [ConsoleBlock] {
    var blocks: [ConsoleBlock] = []
    var current: ConsoleBlock?
    for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      if current == nil {
        if line == "```console" { current = ConsoleBlock() }
      } else if line == "```", let block = current {
        blocks.append(block)
        current = nil
      } else {
        current?.take(line, number: index + 1)
      }
    }
    return blocks
  }

  private mutating func take(_ line: Substring, number: Int) {
    if line.hasPrefix("$ ") {
      steps.append(Step(line: number, command: String(line.dropFirst(2))))
    } else if let last = steps.indices.last {
      if line.hasPrefix("> "), steps[last].output.isEmpty {
        steps[last].command += "\n" + line.dropFirst(2)
      } else {
        steps[last].output.append(String(line))
      }
    }
  }
}

extension ConsoleBlock.Step {
  /// What the page says, without the empty lines that only set steps apart.
  var expected: [String] {
    var lines = output[...]
    while lines.last?.isEmpty == true { lines.removeLast() }
    return Array(lines)
  }
}
