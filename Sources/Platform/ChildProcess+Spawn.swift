internal import CShims
internal import Glibc

extension ChildProcess {
  /// The reading and the writing end of a new pipe, which children do not inherit.
  static func makePipe() throws(SystemError) -> [Int32] {
    var ends: [Int32] = [-1, -1]
    guard unsafe llvs_pipe(&ends) == 0 else { throw SystemError(errno: errno, call: "pipe2") }
    return ends
  }

  /// Reads what is in a pipe, once there is something: nothing at its end, and nil if that fails.
  static func read(_ pipe: Int32) -> [UInt8]? {
    var count = -1
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, used in
      repeat {
        count = unsafe Glibc.read(pipe, buffer.baseAddress, buffer.count)
      } while count < 0 && errno == EINTR
      used = max(0, count)
    }
    return count < 0 ? nil : bytes
  }

  /// Starts a program in a session of its own, found as execvp(3) finds it. A descriptor of -1 is /dev/null. The
  /// default of `environment` is this process's.
  static func spawn(
    _ arguments: [String], environment: [String]? = nil, input: Int32 = -1, output: Int32 = -1,
    errors: Int32 = -1
  ) throws(SystemError) -> ChildProcess {
    try spawn(
      bytes: arguments.map { Array($0.utf8) }, environment: environment, input: input,
      output: output, errors: errors)
  }

  /// The same with arguments of any bytes but NUL; `path` is the program if it is not the first argument. Unless
  /// `keepsSignals`, the signal mask and handlers are the default ones.
  static func spawn(
    bytes arguments: [[UInt8]], path: String? = nil, environment: [String]? = nil,
    input: Int32 = -1, output: Int32 = -1, errors: Int32 = -1, keepsSignals: Bool = false
  ) throws(SystemError) -> ChildProcess {
    guard let program = path ?? arguments.first.map({ FileSystem.text($0) }) else {
      throw SystemError(errno: EINVAL, call: "posix_spawnp")
    }
    let texts = try arguments.map { argument throws(SystemError) in
      try FileSystem.terminated(argument)
    }
    var attributes = posix_spawnattr_t()
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawnattr_init(&attributes)
    unsafe posix_spawn_file_actions_init(&actions)
    defer {
      unsafe posix_spawnattr_destroy(&attributes)
      unsafe posix_spawn_file_actions_destroy(&actions)
    }
    // The program must get signals that this process blocks or ignores.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    // spawn.h: POSIX_SPAWN_SETSID, _SETSIGMASK and _SETSIGDEF; the importer does not see the first.
    unsafe posix_spawnattr_setflags(&attributes, keepsSignals ? 0x80 : 0x80 | 0x08 | 0x04)
    for (number, descriptor) in [input, output, errors].enumerated() {
      if descriptor >= 0 {
        unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
      } else {
        unsafe posix_spawn_file_actions_addopen(
          &actions, Int32(number), "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
      }
    }
    var words: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var variables: [UnsafeMutablePointer<CChar>?] = unsafe (environment ?? []).map {
      unsafe strdup($0)
    }
    unsafe variables.append(nil)
    defer { unsafe variables.forEach { unsafe free($0) } }
    var process = pid_t()
    let code =
      environment == nil
      ? unsafe posix_spawnp(&process, program, &actions, &attributes, words, environ)
      : unsafe posix_spawnp(&process, program, &actions, &attributes, words, variables)
    guard code == 0 else { throw SystemError(errno: code, call: "posix_spawnp", subject: program) }
    return ChildProcess(id: process)
  }
}

extension SystemProcess {
  /// `NAME=VALUE` each.
  package static var environment: [String] {
    var variables: [String] = []
    var at: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe environ
    while let here = unsafe at, let variable = unsafe here.pointee {
      unsafe variables.append(String(cString: variable))
      unsafe at = here + 1
    }
    return variables
  }
}
