import FileTree
import LLVS
import Platform

extension Verb {
  @Sendable static func importTree(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let directory = try line.operands(1...1)[0]
    guard try FileSystem.status(directory).kind == .directory else {
      throw UsageError("\(directory) is not a directory")
    }
    let site = try Site(line)
    let into = try site.commandPath(line.options["into"] ?? "/").split(separator: "/")
      .map(String.init)
    guard !into.contains(".llvs") else { throw UsageError("--into takes a path of the tree") }
    switch site {
    case .mounted(let root, _):
      var source = MountedImport(
        directory: directory, target: ([root] + into).joined(separator: "/"))
      try source.run()
      var words = ["commit"]
      if let message = line.options["message"] { words.append(message) }
      console.say(try site.run(words, console).text)
      return complain(of: source.leftOut, console)
    case .store(let path):
      let store = try Store.open(path: path, mode: .writer)
      guard try FileSystem.resolve(directory) != store.path else {
        throw UsageError("\(directory) is the store itself")
      }
      var source = TreeImport(
        directory: directory, prefix: Array(into.joined(separator: "/").utf8),
        progress: { console.progress(CommandProgress("importing", done: $0, total: 0)) })
      let record = try source.run(in: store, message: line.options["message"])
      let text = record.map { "\($0.name) holds \(source.count) entries of \(directory)" }
      if line.isJSON {
        console.tell(
          ReplyValue.record([
            ReplyField("ok", .flag(true)),
            ReplyField("version", record.map { .text($0.name) } ?? .null),
            ReplyField("entries", source.count),
          ]).json)
      } else {
        console.say(text ?? "nothing to import: the tree holds all of \(directory)")
      }
      return complain(of: source.leftOut, console)
    }
  }

  private static func complain(of leftOut: [[UInt8]], _ console: Console) -> ExitCode {
    for path in leftOut {
      console.complain(
        "llvs: \(FileSystem.text(path)) is left out: a mount has that name for itself.")
    }
    return leftOut.isEmpty ? .done : .failed
  }

  @Sendable static func exportTree(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(2...2)
    let store = try Site(line).reader()
    let record = try store.version(meant: words[0])
    var export = TreeExport(
      store: store, target: words[1],
      progress: {
        console.progress(
          CommandProgress("exporting", done: $0, total: Int(clamping: record.map.count)))
      })
    try export.run(record)
    for complaint in export.complaints { console.complain("llvs: \(complaint).") }
    console.say("\(record.name) is in \(words[1])")
    return export.complaints.isEmpty ? .done : .failed
  }

  @Sendable static func backup(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let target = try line.operands(1...1)[0]
    let store = try Site(line).reader()
    try LiveTree.backup(store, to: target) { done, total in
      console.progress(
        CommandProgress("copying MiB", done: Int(done >> 20), total: Int(total >> 20)))
      return true
    }
    console.say("\(store.path) is copied to \(target)")
    return .done
  }
}
