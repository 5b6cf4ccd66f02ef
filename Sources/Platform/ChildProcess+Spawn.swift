internal import CShims
internal import Glibc

extension ChildProcess {
  /// The two ends of a new pipe, the one to read from first; programs that are started have
  /// neither.
  static func makePipe() throws(SystemError) -> [Int32] {
    var ends: [Int32] = [-1, -1]
    guard unsafe llvs_pipe(&ends) == 0 else { throw SystemError(errno: errno, call: "pipe2") }
    return ends
  }

  /// Starts a program in a session of its own, with the default signal mask and handlers.
  ///
  /// - Parameters:
  ///   - arguments: the program first, found as execvp(3) finds it.
  ///   - environment: `NAME=VALUE` each; nil for this process's.
  ///   - input: a descriptor; -1 for nothing to read.
  ///   - output: a descriptor; -1 to discard the output.
  ///   - errors: a descriptor for standard error; -1 to discard it.
  /// - Returns: the process, which has to be waited for.
  /// - Throws: the error of posix_spawn(3).
  static func spawn(
    _ arguments: [String], environment: [String]? = nil, input: Int32 = -1, output: Int32 = -1,
    errors: Int32 = -1
  ) throws(SystemError) -> ChildProcess {
    try spawn(
      bytes: arguments.map { Array($0.utf8) }, environment: environment, input: input,
      output: output, errors: errors)
  }

  /// The same with arguments of any bytes but NUL.
  static func spawn(
    bytes arguments: [[UInt8]], environment: [String]? = nil, input: Int32 = -1,
    output: Int32 = -1, errors: Int32 = -1
  ) throws(SystemError) -> ChildProcess {
    guard let program = arguments.first.map({ FileSystem.text($0) }) else {
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
    // Signals that this process blocks or ignores must work there.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    // spawn.h: POSIX_SPAWN_SETSID, _SETSIGMASK and _SETSIGDEF; the importer does not see the first.
    unsafe posix_spawnattr_setflags(&attributes, 0x80 | 0x08 | 0x04)
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
  /// This process's environment, `NAME=VALUE` each.
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
