import Glibc

/// A failed system call: its name, its subject and its errno.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  public let errno: Int32
  /// The call that failed, for example `"pwrite"`.
  public let call: String
  /// The path or object of the call; empty where there is none.
  public let subject: String

  /// The errno must be captured right after the call.
  public init(errno: Int32, call: String, subject: String = "") {
    self.errno = errno
    self.call = call
    self.subject = subject
  }

  /// True if the disk or the user's quota is full.
  package var isFull: Bool { errno == Errno.noSpace || errno == Errno.quota }

  /// True if a file, or a directory on the way to it, is missing.
  package var isAbsence: Bool { errno == Errno.noEntry || errno == Errno.notDirectory }

  /// True if a file could be opened but not read.
  package var isOfReading: Bool { call == "pread" || call == "preadv" }

  /// For example `open /a: No such file or directory`.
  public var description: String {
    let words = unsafe String(cString: strerror(errno))
    return subject.isEmpty ? "\(call): \(words)" : "\(call) \(subject): \(words)"
  }
}
