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

  /// The full name of the process's user, else the login name; empty without both.
  package static let userName: String = {
    var buffer = [CChar](repeating: 0, count: 65_536)
    let names = unsafe buffer.withUnsafeMutableBufferPointer { buffer -> [String] in
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard let start = buffer.baseAddress,
        unsafe getpwuid_r(geteuid(), &entry, start, buffer.count, &found) == 0,
        let user = unsafe found?.pointee
      else { return [] }
      return unsafe [user.pw_gecos, user.pw_name].map { text in
        unsafe text.map { unsafe String(cString: $0) } ?? ""
      }
    }
    // passwd(5): a room and telephone numbers follow after a comma.
    let full = names.first?.prefix { $0 != "," } ?? ""
    return oneLine(full.isEmpty ? names.last ?? environment("USER") ?? "" : String(full))
  }()

  /// The name of this machine, without its domain; empty if it has none.
  package static let hostName: String = {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
    let text = String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return oneLine(text.split(separator: ".").first.map(String.init) ?? text)
  }()

  private static func oneLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 0x20 }.prefix(200)))
  }
}
