extension ManualPage {
  /// A use of the program: a sentence, and the commands.
  package struct Example: Sendable {
    package let text: String
    package let commands: [String]
  }

  /// The examples of the page; each continues where the one before it ended.
  package static let examples = [
    Example(
      text: "Mount a store, which is made if there is none, and work in it.",
      commands: ["llvs mount ~/notes.store ~/notes", "cd ~/notes", "echo 'buy milk' > todo.txt"]),
    Example(
      text: "See what is in no version yet, then make a version with a message.",
      commands: ["llvs diff", "llvs commit 'before lunch'"]),
    Example(
      text: "See what happened to a file, then bring it back as it was one version before.",
      commands: [
        "echo 'buy bread' > todo.txt; llvs commit bread", "llvs history todo.txt -u",
        "llvs restore head~ todo.txt",
      ]),
    Example(
      text: "Find a word in all versions.", commands: ["llvs grep milk"]),
    Example(
      text: "Exchange versions with other machines through a directory that both reach.",
      commands: ["llvs peer stick ~/stick", "llvs sync"]),
    Example(
      text: "List the conflicts of a merge, and take the other side everywhere.",
      commands: ["llvs conflicts", "llvs settle --all theirs"]),
    Example(
      text: "Make the last version and unmount.", commands: ["cd", "llvs unmount ~/notes"]),
  ]

  static var exampleLines: [String] {
    var lines = [".SH EXAMPLES"]
    for example in examples {
      lines += [".PP", escaped(example.text), ".PP", ".nf", ".RS"]
      lines += example.commands.map(escaped) + [".RE", ".fi"]
    }
    return lines
  }
}
