import Documents
import Grammar
package import LLVSCore
import Platform
import TreeNames

extension Verb {
  /// Returns true for the import of a file: a document, because other imports are directories.
  static func isDocument(_ path: String) throws -> Bool {
    guard try FileSystem.exists(path) else { return path.hasSuffix(".kvcrdt") }
    return try FileSystem.status(path).kind == .regular
  }

  static func importDocument(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    guard line.options["on"] == nil, line.options["message"] == nil else {
      throw UsageError(
        "a document says itself what it is based on; --on and -m are for directories")
    }
    let path = try FileSystem.resolve(line.words[0])
    let site = try CommandTarget(line)
    let into = try site.path(line.optionBytes["into"] ?? [UInt8(ascii: ".")])
    let address = "kvcrdt:\(path)#\(String(decoding: into, as: UTF8.self))"
    let answer = try site.run(
      ["import", address] + (line.has("unrelated") ? ["unrelated"] : []), console)
    console.tell(answer, line)
    return .done
  }

  /// Makes the mount read the directory itself, so that all files appear at once.
  static func importAtOnce(
    _ directory: [UInt8], _ options: [String], into path: [UInt8], _ site: CommandTarget,
    _ line: CommandLine, _ console: Console
  ) throws -> Answer {
    var words = [Array("import".utf8), directory] + options.map { Array($0.utf8) }
    if !path.isEmpty { words += [Array("into".utf8), path] }
    if let message = line.options["message"] { words += [Array("as".utf8), Array(message.utf8)] }
    return try site.run(bytes: words, console)
  }

  static func exportDocument(
    _ record: VersionRecord, _ store: Store, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    let path = line.words[1]
    let directory = try DocumentAddress.directory(line.options["from"] ?? "")
    let isThere = try FileSystem.exists(path)
    guard !isThere || line.has("merge") || line.has("overwrite") else {
      throw ControlError(
        .exists, "\(path) is there; --merge adds to it, --overwrite replaces it")
    }
    if isThere, line.has("overwrite") { try FileSystem.unlink(path) }
    do {
      let count = try write(record.number, store, directory, to: path)
      console.say(
        count == 0
          ? "\(path) says already what \(record.name) says"
          : "\(record.name) is in \(path): \(PrintableText.count(count, "value or removal", "values and removals")) written"
      )
    } catch let problem as DocumentProblem {
      throw ControlError(problem.asStoreError)
    }
    return .done
  }

  /// Makes a document equal to a version, and returns the number of rows that were written.
  package static func write(
    _ version: VersionNumber, _ store: Store, _ directory: DocumentDirectory, to path: String
  ) throws -> Int {
    let file = try DocumentFile.open(path)
    let document = try file?.snapshot() ?? .empty
    let sync = DocumentSync(store, DocumentAddress(path: path, directory: directory))
    guard let export = try sync.outgoing(to: document, at: version)?.export else {
      throw ControlError(
        .refused, "\(path) holds what that version does not know; import it first")
    }
    var stamp = file?.stamp
    if stamp == nil { stamp = try DocumentStamp(path: path) }
    file?.close()
    let writer = DocumentWriter(path, store, authorName: SystemProcess.hostName)
    guard case .done = try writer.write(export, expecting: stamp) else {
      throw ControlError(.busy, "\(path) changes while it is written")
    }
    return export.values.count
  }
}
