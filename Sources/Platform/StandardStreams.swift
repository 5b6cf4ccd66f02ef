internal import Glibc

/// The process's own output.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Gives input, output and errors that are closed, as some supervisors leave them, to /dev/null: a file that
  /// took the number would be written to by whoever has something to say.
  ///
  /// - Concurrency: before the process opens anything.
  package static func openClosed() {
    // open(2) gives the lowest number that is free.
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open("/dev/null", O_RDWR)
    }
  }

  /// Writes everything, or as much as the reader takes.
  package func write(_ text: String) {
    try? write(Array(text.utf8))
  }

  /// Writes everything.
  ///
  /// - Throws: what write(2) says, EPIPE where nobody reads any more; a part may have been written.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    var bytes = bytes[...]
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(rawValue, $0.baseAddress, $0.count)
      }
      if count < 0 {
        let code = errno
        guard code == EINTR else { throw SystemError(errno: code, call: "write") }
        continue
      }
      bytes = bytes.dropFirst(count)
    }
  }

  /// Whether somebody looks at it.
  package var isTerminal: Bool { isatty(rawValue) == 1 }
}
