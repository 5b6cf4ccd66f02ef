import Grammar

extension Verb {
  static func importStore(
    _ format: String, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    _ = try OriginalStores.Format(option: format)
    let directory = try line.places(1...1)[0]
    guard !line.has("into"), !line.has("message") else {
      throw UsageError("--into and --message are for files, not for a store's versions")
    }
    let site = try CommandTarget(line)
    guard case .store(let path, _) = site else {
      throw ControlError(.busy, "the store is mounted; unmount it before its versions come in")
    }
    let count = try OriginalStores.importVersions(of: directory, into: path)
    _ = try site.run(["merge"], console)
    console.say("\(count) versions of \(directory) came in")
    return .done
  }

  static func exportStore(
    _ format: String, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    let format = try OriginalStores.Format(option: format)
    let directory = try line.places(1...1)[0]
    let store = try CommandTarget(line).storePath
    let count = try OriginalStores.exportVersions(of: store, to: directory, as: format)
    console.say("\(count) versions are new in \(directory)")
    return .done
  }
}
