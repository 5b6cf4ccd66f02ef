internal import Glibc

extension SystemProcess {
  /// The program's name comes first.
  package static var arguments: [[UInt8]] {
    (0..<Int(CommandLine.argc)).compactMap { index in
      guard let word = unsafe CommandLine.unsafeArgv[index] else { return nil }
      return unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
    }
  }

  /// The directory for temporary files: `TMPDIR`, or /tmp.
  package static var temporaryDirectory: String {
    let named = environment("TMPDIR") ?? ""
    return named.hasPrefix("/") ? named : "/tmp"
  }

  package static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Returns true if execvp(3) would find a program of this name.
  package static func isInstalled(_ program: String) -> Bool {
    if program.contains("/") { return unsafe access(program, X_OK) == 0 }
    let path = environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
    return path.split(separator: ":").contains { unsafe access("\($0)/\(program)", X_OK) == 0 }
  }
}
