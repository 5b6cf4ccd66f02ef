internal import Glibc

/// The process's own output.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

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
