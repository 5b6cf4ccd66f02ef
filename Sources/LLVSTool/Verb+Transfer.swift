import Control
import FuseSession
import Grammar
import HistoryTree
import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension Verb {
  @Sendable static func importTree(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    if let format = line.options["from"] { return try importStore(format, line, console) }
    _ = try line.operands(1...1)
    if let archive = Archive(path: line.words[0]) {
      return try archive.unpacked { try importDirectory($0, shown: line.words[0], line, console) }
    }
    if try isDocument(line.words[0]) { return try importDocument(line, console) }
    return try importDirectory(line.bytes[0], shown: FileSystem.text(line.bytes[0]), line, console)
  }

  private static func importDirectory(
    _ directory: [UInt8], shown: String, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    // The slash follows a link to a directory.
    guard try FileSystem.status(directory + [0x2F]).kind == .directory else {
      throw UsageError("\(shown) is not a directory")
    }
    let site = try CommandTarget(line)
    let into = try site.path(line.optionBytes["into"] ?? [UInt8(ascii: ".")])
    guard !into.split(separator: 0x2F).contains(where: { $0.elementsEqual(TreeImport.reserved) })
    else { throw UsageError("--into takes a path of the tree") }
    let relation = try PathRelation.of(
      mountPoint: String(decoding: directory, as: UTF8.self), toStore: site.storePath)
    switch (relation, site) {
    case (.equal, _): throw UsageError("\(shown) is the store itself")
    case (.inside, _): throw UsageError("\(shown) is in the store itself")
    case (.above, .mounted):
      // The copy would contain itself, and grow during the copying.
      throw UsageError("\(shown) holds the store itself")
    default: break
    }
    if let base = line.options["on"] {
      let source = try FileSystem.resolve(directory)
      console.tell(try importAtOnce(source, ["on", base], into: into, site, line, console), line)
      return .done
    }
    switch site {
    case .mounted(let tree, _):
      try refuseMount(tree, directory, shown)
      return try importMounted(directory, into: into, tree, site, line, console)
    case .store:
      let store = try site.writer()
      var source = TreeImport(
        directory: directory, prefix: into, isCancelled: console.context.isCancelled,
        progress: { console.progress(CommandProgress("importing", bytes: $0, of: $1)) })
      let record: VersionRecord?
      do throws(StoreError) {
        record = try source.run(in: store, message: line.options["message"])
      } catch {
        if case .cancelled = error { throw source.interruption }
        throw error
      }
      let text = record.map {
        "\($0.name) holds \(PrintableText.entries(source.count)) of \(shown)"
      }
      console.reply(
        line, text ?? "nothing to import: the tree holds all of \(shown)",
        ["version": record?.name, "entries": source.count])
      return complain(of: source.leftOut, console)
    }
  }

  private static func importMounted(
    _ directory: [UInt8], into: [UInt8], _ tree: MountView, _ site: CommandTarget,
    _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    // Pending changes would be lost if they were overwritten.
    _ = try site.run(["commit"], console)
    let patterns = try site.reader().state().settings[IgnorePatterns.settingName]
    let report = try StoreReport(json: CommandTarget.status(of: tree.root))
    var source = try MountedImport(
      directory: directory, tree: tree, into: into,
      sparesUnsaved: report.pending?.unsaved.isEmpty == false,
      patterns: patterns.map { IgnorePatterns($0) } ?? .defaults,
      isCancelled: console.context.isCancelled)
    try source.examine()
    let answer: Answer
    if let made = try importedAtOnce(directory, into: into, tree, site, line, console) {
      answer = made
      try source.copyIgnored()
    } else {
      try source.copy()
      var words = [Array("commit".utf8)]
      if let message = line.options["message"] { words.append(Array(message.utf8)) }
      answer = try site.run(bytes: words, console)
    }
    console.tell(answer, line)
    let scratch = source.scratch()
    if let first = scratch.first {
      console.complain(
        "llvs: .llvs/ignore keeps \(PrintableText.text(first))"
          + (scratch.count > 1 ? " and \(scratch.count - 1) more" : "") + " out of versions.")
    }
    return complain(of: source.leftOut, console)
  }

  /// Makes the mount create a version of a directory; nil if the mount cannot see it, or would read itself.
  private static func importedAtOnce(
    _ directory: [UInt8], into: [UInt8], _ tree: MountView, _ site: CommandTarget,
    _ line: CommandLine, _ console: Console
  ) throws -> Answer? {
    let real = try FileSystem.resolve(directory)
    let status = try FileSystem.status(real)
    guard try status.device != FileSystem.status(tree.root).device else { return nil }
    let options = ["same", "\(status.device):\(status.inode)"]
    do {
      return try importAtOnce(real, options, into: into, site, line, console)
    } catch let error as ControlError where error.kind == .notFound {
      return nil
    }
  }

  /// Throws for a directory in the mount, or one that contains it, because the copy would contain itself. Versions
  /// may be copied into the tree.
  private static func refuseMount(_ tree: MountView, _ directory: [UInt8], _ shown: String) throws {
    let slash: [UInt8] = [0x2F]
    let (real, root) = (try FileSystem.resolve(directory), Array(tree.root.utf8))
    let holdsMount = real == root || root.starts(with: real == slash ? slash : real + slash)
    let isInTree =
      real.starts(with: root + slash)
      && !real.split(separator: 0x2F).contains { $0.elementsEqual(ReservedName.bytes) }
    guard !holdsMount, !isInTree else {
      throw UsageError("\(shown) is in the mount itself, or holds it")
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
    if let format = line.options["as"] { return try exportStore(format, line, console) }
    let words = try line.operands(2...2)
    let site = try CommandTarget(line)
    let store = try site.reader()
    let named = try place(line.bytes[0], site, store)
    let record = try named?.record ?? store.version(meant: words[0])
    let from = try line.optionBytes["from"].map { try site.path($0) }
    guard named == nil || from == nil else {
      throw UsageError("VERSION:PATH and --from both name a directory")
    }
    if words[1].hasSuffix(".kvcrdt") {
      guard named == nil else { throw UsageError("--from PATH names a document's directory") }
      return try exportDocument(record, store, line, console)
    }
    let part = from ?? named?.path ?? []
    try refuseInside(store, words[1])
    var export = TreeExport(
      store: store, target: line.bytes[1], isCancelled: console.context.isCancelled,
      progress: { console.progress(CommandProgress("exporting", bytes: $0, of: $1)) })
    try export.run(record, part: part)
    let complaints = export.complaints + export.missing.clauses
    for complaint in complaints { console.complain("llvs: \(complaint).") }
    console.reply(
      line,
      "\(part.isEmpty ? "" : "\(PrintableText.text(part)) of ")\(record.name) is in \(words[1])",
      ["version": record.name, "directory": words[1], "complaints": complaints])
    guard export.complaints.isEmpty else { return .failed }
    return export.missing.count > 0 ? .forgotten : .done
  }

  /// Throws for a target among a store's own files.
  private static func refuseInside(_ store: Store, _ target: String) throws {
    switch try PathRelation.of(mountPoint: target, toStore: store.path) {
    case .inside: throw UsageError("\(target) is in the store itself")
    case .equal: throw UsageError("\(target) is the store itself")
    default: break
    }
  }

  @Sendable static func backup(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let target = try line.places(1...1)[0]
    let site = try CommandTarget(line)
    let store = try site.reader()
    try refuseInside(store, target)
    if case .mounted(let tree, _) = site,
      try [.equal, .inside].contains(PathRelation.of(mountPoint: target, toStore: tree.root))
    {
      throw UsageError(
        "\(target) is in the mount itself: the copy would become part of its versions")
    }
    let isolated = StoreSettings.Name.isolated.rawValue
    let isUpdate = try FileSystem.exists("\(target)/segments")
    let context = console.context
    let written: UInt64
    do throws(StoreError) {
      written = try TreeSession.backup(
        store, to: target, settings: line.has("with-settings") ? [:] : [isolated: Array("on".utf8)]
      ) { done, total in
        console.progress(CommandProgress("copying", bytes: done, of: total))
        return !context.isCancelled()
      }
    } catch {
      guard case .cancelled = error else { throw error }
      let held = (try? FileSystem.exists("\(target)/store.sqlite")) ?? false
      throw ControlError(
        .interrupted,
        "interrupted; \(target) holds \(held ? "the last copy still" : "a part of the copy"); the same command "
          + "continues")
    }
    console.reply(
      line,
      "\(store.path) is copied to \(target)"
        + (isUpdate ? "; \(ByteCount.text(written)) of versions were not there yet" : ""),
      ["store": store.path, "directory": target, "written": written])
    return .done
  }
}

/// An archive for tar(1) to import.
struct Archive {
  private static let endings = [
    ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz", ".tar.zst",
  ]

  private let path: String

  init?(path: String) {
    guard Self.endings.contains(where: { path.hasSuffix($0) }),
      (try? FileSystem.status(path).kind) == .regular
    else { return nil }
    self.path = path
  }

  /// Unpacks the archive into a directory that exists only while `body` runs.
  /// - Throws: ``ControlError`` of kind damaged if tar(1) cannot read it.
  func unpacked<R>(_ body: ([UInt8]) throws -> R) throws -> R {
    guard SystemProcess.isInstalled("tar") else {
      throw ControlError(.notFound, "tar is not installed, which unpacks archives")
    }
    let directory = "\(SystemProcess.temporaryDirectory)/llvs-import-\(SystemRandom.hex(8))"
    try FileSystem.makeDirectory(directory, permissions: 0o700)
    defer { try? FileSystem.removeTree(directory) }
    // Below the directory, whose own mode may be that of the archive's top.
    let files = "\(directory)/files"
    try FileSystem.makeDirectory(files, permissions: 0o755)
    let code = try ChildProcess.run([
      "tar", "--extract", "--file", try FileSystem.resolve(path), "--directory", files,
      "--xattrs", "--xattrs-include=user.*", "--force-local",
    ])
    guard code == 0 else {
      throw ControlError(.damaged, "\(path) was not imported: tar ended with \(code)")
    }
    return try body(Array(files.utf8))
  }
}
