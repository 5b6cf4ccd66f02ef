import Foundation
import Testing

/// The files of Sources that start programs, and who chooses the program. A store of another user must choose none:
/// docs/exchanges.md, rule 10.
private let starters: [String: String] = [
  "Sources/Benchmarks/BenchPlace.swift": "the benchmark",
  "Sources/Control/Commands/HookRunner.swift": "a setting, which StoreSettings withholds",
  "Sources/Control/Peers/Passphrase.swift": "the environment",
  "Sources/FuseSession/Mounts/MountPoint.swift": "llvs",
  "Sources/Grammar/Arbiters/CommandArbiter.swift": "a setting, which StoreSettings withholds",
  "Sources/LLVSTool/Verb+Transfer.swift": "llvs",
  "Sources/LLVSTool/Output/Output.swift": "the environment",
  "Sources/LLVSTool/Verb+Mergetool.swift":
    "the command line, the environment, or a setting, which StoreSettings withholds",
  "Sources/LLVSTool/Verb+Mount.swift": "llvs",
  "Sources/LLVSTool/Verb+Web.swift": "llvs",
  "Sources/LLVSTool/Verb.swift": "llvs",
  "Sources/ObjectStores/Credentials/CredentialSources.swift":
    "a secret of the store, which OwnerTrust checks",
  "Sources/ObjectStores/Rclone/RcloneProcess.swift":
    "the environment and rclone's configuration; RemoteConnector checks OwnerTrust",
]

/// The files that call the system for it.
private let callers: Set = [
  "Sources/CFuseShims/Watcher.c", "Sources/Platform/ChildProcess.swift",
  "Sources/Platform/ChildProcess+Spawn.swift", "Sources/Platform/Terminal.swift",
]

private func sources() -> [Repository.File] {
  Repository.files(below: "Sources") { ["swift", "c", "h"].contains($0.pathExtension) }
}

/// The text of a file without comments.
private func code(_ file: Repository.File) -> String {
  file.text.replacing(#/\/\/.*/#, with: "")
}

@Test("Every place that starts a program is known, with who chooses the program")
func programsAreKnown() {
  let starts =
    #/\b(?:ChildProcess\.(?:run|output|spawn|startDetached)|OwnedProcess|Pager\.start|Process)\(/#
  let found = sources().filter { file in
    !file.path.hasPrefix("Sources/Platform/") && code(file).contains(starts)
  }
  #expect(Set(found.map(\.path)) == Set(starters.keys))
}

@Test("Only Platform calls the system to start a program")
func programsAreStartedInOnePlace() {
  let calls =
    #/\b(?:posix_spawnp?|v?fork|f?exec[vl][pe]*|popen|system|wordexp|dlopen)\(/#
  let found = sources().filter { code($0).contains(calls) }
  // A case of an enumeration, `.system(error)`, is no call.
  let real = found.filter { file in
    code(file).replacing(#/\.system\(|(?:case|func) system\(/#, with: "").contains(calls)
  }
  #expect(Set(real.map(\.path)) == callers)
}
