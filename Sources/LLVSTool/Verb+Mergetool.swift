import Control
import Grammar
import HistoryTree
import LLVSCore
import Platform
import TreeNames

extension Verb {
  @Sendable static func mergetool(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let site = try CommandTarget(line)
    let place: MergePlace
    switch site {
    case .mounted(let tree, _): place = .mounted(tree, try site.reader())
    case .store: place = .service(try ControlService.open(try site.writer()))
    }
    let tool = try chosenTool(line, place.store, console)
    var open: [ControlService.OpenConflict] = []
    let shown = [site.shownPaths.first ?? []]
    for path in line.bytes.isEmpty ? shown : try line.bytes.map({ try site.path($0) }) {
      let found = try ControlService.openConflicts(in: place.store, below: path)
      if found.isEmpty, !path.isEmpty {
        throw ControlError(.notFound, "there is no conflict at \(PrintableText.text(path))")
      }
      open += found.filter { new in !open.contains { $0.path == new.path } }
    }
    guard !open.isEmpty else {
      console.reply(
        line, "no conflicts", ["settled": ReplyValue.list([]), "left": ReplyValue.list([])])
      return .done
    }
    var settled: [[UInt8]] = []
    var left: [ReplyValue] = []
    func leave(_ path: [UInt8], _ reason: String) {
      left.append(["path": ReplyBytes(path), "reason": reason])
      if !line.isJSON { console.complain("llvs: \(PrintableText.text(path)) \(reason).") }
    }
    for conflict in open {
      let name = PrintableText.text(conflict.path)
      let found: ConflictTexts?
      do throws(StoreError) {
        found = try ConflictTexts(conflict.conflict, in: place.store)
      } catch {
        guard error.isForgotten else { throw error }
        leave(conflict.path, "lacks the bytes of a side; \"llvs settle\" closes it")
        continue
      }
      guard let texts = found, let marked = texts.marked else {
        leave(conflict.path, "is not a text on every side; \"llvs settle\" closes it")
        continue
      }
      if texts.lacksBase, !line.isJSON {
        console.complain(
          "llvs: the bytes of the common version of \(name) are forgotten, so its base is empty.")
      }
      try place.begin(conflict.path)
      let merge = TextsInFiles(name: name, texts: texts, marked: marked)
      switch try merge.run(tool) {
      case .merged(let bytes):
        try place.settle(conflict.path, with: bytes)
        settled.append(conflict.path)
        if !line.isJSON { console.say("\(name) is settled") }
      case .left(let reason): leave(conflict.path, "is left as it is: \(reason)")
      }
    }
    if line.isJSON {
      console.reply(
        line, "\(settled.count) settled, \(left.count) left",
        ["settled": settled, "left": left])
    }
    return left.isEmpty ? .done : .conflict
  }

  private static func chosenTool(
    _ line: CommandLine, _ store: Store, _ console: Console
  ) throws -> MergeTool {
    if let named = line.options["tool"] { return try MergeTool(named) }
    if let named = SystemProcess.environment("MERGETOOL"), !named.isEmpty {
      return try MergeTool(named)
    }
    var faults: [String] = []
    let settings = try StoreSettings(of: store, faults: &faults)
    if !settings.mergetool.isEmpty { return try MergeTool(settings.mergetool) }
    if settings.withheld.contains(.mergetool) {
      console.complain("llvs: the store's mergetool is another user's choice, and is not run.")
    }
    guard let tool = MergeTool.installed() else {
      throw ControlError(.notFound, "no merge tool is installed; name one with --tool")
    }
    return tool
  }
}

enum MergePlace {
  case mounted(MountView, Store)
  case service(ControlService)

  var store: Store {
    switch self {
    case .mounted(_, let store): store
    case .service(let service): service.store
    }
  }

  private static func merged(_ path: [UInt8], _ tree: MountView) throws -> [UInt8] {
    // In a view of a directory, the `.llvs` there lists that directory's conflicts.
    _ = try tree.place(path)
    return Array("\(tree.root)/.llvs/conflicts/".utf8)
      + MetaTree.conflictDirectory(of: tree.below(path) ?? path) + Array("/merged".utf8)
  }

  /// Reads the merged text, so that the mount merges changes that arrive before it is settled.
  func begin(_ path: [UInt8]) throws {
    guard case .mounted(let tree, _) = self else { return }
    _ = try File(bytes: Self.merged(path, tree), .read).read(1, at: 0)
  }

  func settle(_ path: [UInt8], with bytes: [UInt8]) throws {
    switch self {
    case .service(let service): try service.settle(path, with: bytes)
    case .mounted(let tree, _):
      guard !bytes.isEmpty else {
        // An empty draft settles nothing, but the value itself can be emptied.
        try File(bytes: tree.place(path), [.readWrite, .truncate]).sync()
        return
      }
      let file = try File(bytes: Self.merged(path, tree), [.readWrite, .truncate])
      try file.write(bytes, at: 0)
      // fsync(2) reports whether the text was accepted; close(2) may not.
      try file.sync()
    }
  }
}

/// Writes the texts of one conflict to files for a program.
private struct TextsInFiles {
  let name: String
  let texts: ConflictTexts
  let marked: [UInt8]

  enum Outcome {
    case merged([UInt8])
    case left(String)
  }

  /// Runs a tool and removes its files.
  func run(_ tool: MergeTool) throws -> Outcome {
    let parent = SystemProcess.temporaryDirectory
    let directory = "\(parent)/llvs-merge-\(SystemRandom.hex(8))"
    try FileSystem.makeDirectory(directory, permissions: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    func file(_ label: String, _ text: [UInt8]) throws -> String {
      let path = "\(directory)/\(fileName(label))"
      try File(path, [.readWrite, .create, .exclusive]).write(text, at: 0)
      return path
    }
    let merged = try file("merged", marked)
    let program = tool.words[0]
    guard SystemProcess.isInstalled(program) else {
      throw ControlError(
        .notFound,
        "\(PrintableText.text(Array(program.utf8))) is not installed; choose another with --tool")
    }
    let command = tool.command(
      base: try file("base", texts.base), ours: try file("ours", texts.sides[0].text),
      theirs: try file("theirs", texts.sides[1].text), merged: merged)
    let code = try ChildProcess.run(command)
    guard code == 0 else { return .left("\(command[0]) ended with \(code)") }
    let bytes = try FileSystem.read(merged, atMost: 32 << 20)
    guard !texts.areMarkersLeft(in: bytes) else { return .left("markers remain") }
    return .merged(bytes)
  }

  /// Returns a file name such as `notes.ours.txt`, because programs check the extension.
  private func fileName(_ label: String) -> String {
    let last = name.split(separator: "/").last.map(String.init) ?? ""
    let parts = last.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, let ending = parts.last, !ending.isEmpty, ending.utf8.count <= 32 else {
      return "\(last.prefix(40)).\(label)"
    }
    return "\(last.dropLast(ending.count + 1).prefix(40)).\(label).\(ending)"
  }
}
