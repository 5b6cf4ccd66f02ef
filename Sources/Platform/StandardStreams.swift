internal import Glibc

package enum StandardStream: Int32, Sendable {
  case input = 0
  case output = 1
  case error = 2

  /// Opens /dev/null for closed standard streams: otherwise the next opened file would get messages.
  /// - Concurrency: call before the process opens anything.
  package static func openClosed() {
    // open(2) returns the lowest free number.
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open("/dev/null", O_RDWR)
    }
  }

  /// Writes everything, or until the reader has gone; errors are ignored.
  package func write(_ text: String) { try? write(Array(text.utf8)) }

  /// Writes everything; EPIPE if the reader has gone. A part may have been written before an error.
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

  /// Reads a line without its end, up to 4096 bytes; nil at the end of the stream.
  package func readLine() -> String? {
    var line: [UInt8] = []
    while line.count < 4096 {
      var byte: UInt8 = 0
      let count = unsafe read(rawValue, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      if byte == 0x0A { break }
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  package var isTerminal: Bool { isatty(rawValue) == 1 }
}
