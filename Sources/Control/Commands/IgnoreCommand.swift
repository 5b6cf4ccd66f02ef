package import Grammar
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

/// Adds lines to the store's own ignore patterns, lists them, or reports which pattern matches a path.
struct IgnoreCommand: Command {
  static let forms = [
    CommandForm(
      "ignore", "[PATTERN... | --check PATH...]", .paths,
      options: [
        VerbOption(
          "check", help: "show which paths are ignored, with the pattern that decides")
      ],
      help: """
        Lists the store's own ignore patterns, or adds some.
        New names that match are in no version and are never sent; lines are as in .gitignore. These patterns are in
        .llvs/ignore and stay here. A file .llvsignore in any directory holds patterns for that directory and below;
        it is versioned and exchanged like other files, and goes before the store's own. With --check it tells which
        pattern keeps a path out.
        """)
  ]

  enum Request: Hashable {
    case add([[UInt8]])
    case check([[UInt8]])
  }

  let request: Request

  var effect: CommandEffect {
    if case .add(let patterns) = request, !patterns.isEmpty { .change } else { .query }
  }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch request {
    case .add(let patterns): try service.ignore(patterns)
    case .check(let paths): try service.checkIgnored(paths)
    }
  }

  init(_ arguments: inout Arguments) throws(ControlError) {
    guard !arguments.takes("--check") else {
      request = .check(try arguments.somePaths())
      return
    }
    var patterns: [[UInt8]] = []
    while let pattern = arguments.takeFirst() {
      guard !pattern.isEmpty, !pattern.contains(0x0A), !pattern.contains(0) else {
        throw arguments.misused("a pattern is one line")
      }
      patterns.append(pattern)
    }
    request = .add(patterns)
  }
}

extension ControlService {
  package func ignoreText() throws(ControlError) -> [UInt8] {
    try translating {
      try store.state().settings[IgnorePatterns.settingName] ?? IgnorePatterns.defaultText
    }
  }

  package func setIgnoreText(_ text: [UInt8]) throws(ControlError) {
    guard text.count <= IgnorePatterns.maximumLength else {
      throw ControlError(.tooLong, "patterns of more than \(IgnorePatterns.maximumLength) bytes")
    }
    let before = tree.files.ignore
    // First, so that after a kill no version has what a removed pattern kept out.
    try translating { try tree.files.setIgnore(IgnorePatterns(text)) }
    do {
      try translating {
        try store.write { (transaction) throws(StoreError) in
          transaction.set(IgnorePatterns.settingName, to: text)
        }
      }
    } catch {
      try? tree.files.setIgnore(before)
      throw error
    }
  }

  fileprivate func ignore(_ patterns: [[UInt8]]) throws -> CommandResult {
    let text = try ignoreText()
    guard !patterns.isEmpty else {
      let shown = String(decoding: text, as: UTF8.self)
      let lines = shown.split(separator: "\n").map(String.init).filter { $0.first != "#" }
      return CommandResult(
        shown.hasSuffix("\n") ? String(shown.dropLast()) : shown, ["patterns": lines])
    }
    try addPatterns(patterns, to: text)
    let words = patterns.map { PrintableText.text($0) }.joined(separator: ", ")
    return CommandResult(
      "new names that match are in no version from now on: \(words)", ["patterns": patterns])
  }

  func addPatterns(_ patterns: [[UInt8]], to text: [UInt8]) throws {
    for pattern in patterns {
      guard IgnorePatterns(pattern).faults.isEmpty else {
        throw ControlError(
          .grammar, "\(PrintableText.text(pattern)) is not a pattern of gitignore(5)")
      }
    }
    let known = Set(text.split(separator: 0x0A).map(Array.init))
    let added = patterns.filter { !known.contains($0) }
    let start = text.isEmpty || text.last == 0x0A ? text : text + [0x0A]
    try setIgnoreText(start + added.flatMap { $0 + [0x0A] })
  }

  fileprivate func checkIgnored(_ paths: [[UInt8]]) throws -> CommandResult {
    let view = try headRecord().map { TreeView(map: store.map(of: $0)) }
    var lines: [String] = []
    var values: [ReplyValue] = []
    let hiding = try tree.files.hidingScratch().map(\.path)
    let kept = try tree.files.scratchWithoutPattern()
    for path in paths {
      let isHiding = hiding.contains { PathFilter.isAtOrBelow(path, $0.bytes) }
      let isKept = kept.contains { PathFilter.isAtOrBelow(path, $0.bytes) }
      let isScratch = isHiding || isKept
      let isVersioned = try !isScratch && view?.find(path: path) != nil
      let reason = try tree.files.reasonToIgnore(
        TreePath(path), isDirectory: try isDirectory(path))
      let file = reason.map { Self.file(of: $0) }
      let pattern = reason.map { "\(file ?? ""), line \($0.line)" }
      let shown = PrintableText.text(path)
      let line =
        switch (isVersioned, pattern) {
        case (false, let pattern?): "\(shown): in no version, by \(pattern)"
        case (true, let pattern?):
          "\(shown): in versions, since it was before \(pattern) matched; "
            + "\"untrack \(shown)\" takes it out"
        case (_, nil) where isKept:
          "\(shown): in no version, since it was ignored by a pattern that is gone; \"track \(shown)\" puts it in"
        case (_, nil) where isHiding:
          "\(shown): in no version; what versions have of that name is shown escaped"
        case (_, nil): "\(shown): \(isVersioned ? "in versions; " : "")no pattern matches"
        }
      lines.append(line)
      let state = isVersioned ? "versioned" : reason == nil && !isScratch ? "new" : "ignored"
      values.append(["path": ReplyBytes(path), "state": state, "file": file, "line": reason?.line])
    }
    return CommandResult(lines.joined(separator: "\n"), ["paths": values])
  }

  /// The path of the file with a pattern.
  private static func file(of reason: IgnoreScope.Reason) -> String {
    guard let directory = reason.directory else { return ".llvs/ignore" }
    let name = String(decoding: IgnoreScope.fileName, as: UTF8.self)
    return directory.isEmpty ? name : "\(PrintableText.text(directory))/\(name)"
  }

  private func isDirectory(_ path: [UInt8]) throws -> Bool {
    var number = InodeNumber.root
    var isDirectory = true
    for name in path.split(separator: 0x2F) {
      do throws(FSError) {
        let status = try tree.files.lookup(number, FileName(name))
        tree.files.forget(status.number, count: 1)
        (number, isDirectory) = (status.number, status.kind == .directory)
      } catch .noEntry {
        return false
      } catch .notDirectory {
        return false
      }
    }
    return isDirectory
  }
}
