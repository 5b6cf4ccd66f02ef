internal import Platform

/// One `rclone rcd`, which runs while this object exists. It listens at a unix socket, or before 1.61 at a port of
/// 127.0.0.1, and requires a name and password.
final class RcloneProcess: Sendable {
  private static let patience: UInt64 = 15_000_000_000
  private let process: OwnedProcess
  private let directory: String?
  let socket: String?
  /// The scheme, host and port of every URL.
  let origin: String
  let user: String
  let password: String

  /// Starts `program` and waits until it listens; `unsupported` if that fails.
  init(program: String, control: TransferControl) throws(RemoteError) {
    let version = try Self.version(of: program, control)
    user = SystemRandom.hex(8)
    password = SystemRandom.hex(24)
    // With this variable rclone's S3 does not start; without it rclone trusts the system's certificates.
    let dropped = ["AWS_CA_BUNDLE=", "RCLONE_RC_", "RCLONE_LOG_", "RCLONE_VERBOSE="]
    let kept = SystemProcess.environment.filter { variable in
      !dropped.contains { variable.hasPrefix($0) }
    }
    let environment = kept + ["RCLONE_RC_USER=\(user)", "RCLONE_RC_PASS=\(password)"]
    let common = [
      "--rc-serve", "--rc-server-read-timeout", "24h", "--rc-server-write-timeout", "24h",
    ]
    if version >= (1, 61) {
      let directory = try Self.makeDirectory()
      self.directory = directory
      let socket = "\(directory)/socket"
      self.socket = socket
      origin = "http://localhost"
      process = try Self.start(
        [program, "rcd", "--rc-addr", "unix://\(socket)"] + common, environment)
    } else {
      directory = nil
      socket = nil
      let process = try Self.start(
        [program, "rcd", "--rc-addr", "127.0.0.1:0"] + common, environment)
      self.process = process
      let origin = process.wait(nanoseconds: Self.patience) { said -> String? in
        guard let start = said.range(after: "Serving remote control on http://127.0.0.1:"),
          let end = said[start...].firstIndex(of: "/")
        else { return nil }
        return "http://127.0.0.1:" + said[start..<end]
      }
      guard let origin else { throw Self.failed(process.said) }
      self.origin = origin
    }
  }

  /// Waits until it answers; `unsupported` if it ends or takes too long.
  func wait(control: TransferControl, _ ask: () throws(RemoteError) -> Void) throws(RemoteError) {
    let end = SystemClock.monotonic() + Self.patience
    while true {
      do throws(RemoteError) {
        return try ask()
      } catch {
        guard error.kind == .unreachable, error.status == nil else { throw error }
        guard !process.isOver, SystemClock.monotonic() < end else {
          throw Self.failed(process.said)
        }
        try control.pause(nanoseconds: 5_000_000)
      }
    }
  }

  deinit {
    // An empty directory that cannot be removed does no harm.
    if let directory { try? FileSystem.removeTree(directory) }
  }

  private static func failed(_ said: String) -> RemoteError {
    let last = said.split(whereSeparator: \.isNewline).last.map(String.init) ?? "it said nothing"
    return RemoteError(.unsupported, "rclone does not start: \(HTTPStatusError.shown(last))")
  }

  private static func start(
    _ arguments: [String], _ environment: [String]
  ) throws(RemoteError) -> OwnedProcess {
    try RemoteError.wrapping(try OwnedProcess(arguments, environment: environment))
  }

  private static func makeDirectory() throws(RemoteError) -> String {
    // The kernel accepts 108 bytes for a socket's path (unix(7)).
    let usual = SystemProcess.temporaryDirectory
    let parent = usual.utf8.count <= 64 ? usual : "/tmp"
    let path = "\(parent)/llvs-rclone-\(SystemRandom.hex(8))"
    try RemoteError.wrapping(try FileSystem.makeDirectory(path, permissions: 0o700))
    return path
  }

  private static func version(
    of program: String, _ control: TransferControl
  ) throws(RemoteError) -> (Int, Int) {
    guard SystemProcess.isInstalled(program) else {
      throw RemoteError(
        .unsupported, "rclone is needed for this remote and is not installed: apt install rclone")
    }
    do throws(SystemError) {
      let (_, bytes) = try ChildProcess.output(
        of: [program, "version"], atMost: 1 << 16, patience: patience,
        isGivenUp: { control.isCancelled })
      let first = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }
      // `rclone v1.60.1-DEV`
      let numbers = first.drop { !$0.isNumber }.split(separator: ".").prefix(2).map { Int($0) }
      guard numbers.count == 2, let major = numbers[0], let minor = numbers[1] else {
        throw SystemError(errno: Errno.invalid, call: "rclone version", subject: String(first))
      }
      return (major, minor)
    } catch {
      if error.errno == Errno.cancelled { throw .cancelled }
      throw RemoteError(.unsupported, "rclone does not run: \(error)")
    }
  }
}

extension String {
  fileprivate func range(after text: String) -> Index? {
    var rest = self[...]
    while let first = text.first, let start = rest.firstIndex(of: first) {
      if rest[start...].hasPrefix(text) { return index(start, offsetBy: text.count) }
      rest = rest[start...].dropFirst()
    }
    return nil
  }
}
