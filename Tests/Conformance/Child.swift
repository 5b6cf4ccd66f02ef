import CShims
import Glibc

// Checks of what one process sees of another. The checks run in one thread, so a process can be split
// off without what fork(2) forbids in programs of several.

/// A process that runs a body; what that throws, ``finish()`` throws in the check.
final class Child {
  let id: pid_t
  private let words: Int
  private var isDone = false

  init(_ body: () throws -> Void) throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw failure("pipe") }
    let id = call(SYS_clone, Int(SIGCHLD))
    guard id >= 0 else { throw failure("clone") }
    if id == 0 {
      // Whatever becomes of the check, its processes end with it.
      _ = call(SYS_prctl, 1, Int(SIGKILL))
      do {
        try body()
        _exit(0)
      } catch {
        let isSkipped = error is Skipped
        _ = Sys.write(Int(ends[1]), Array("\((error as? Skipped)?.reason ?? "\(error)")".utf8))
        _exit(isSkipped ? 2 : 1)
      }
    }
    close(ends[1])
    self.id = pid_t(id)
    words = Int(ends[0])
  }

  deinit {
    if !isDone {
      kill(id, SIGKILL)
      _ = status()
    }
    Sys.close(words)
  }

  /// Waits for the end, and throws what the body threw.
  func finish() throws {
    let status = status()
    let said = String(decoding: Sys.read(words, 4096) ?? [], as: UTF8.self)
    switch (status & 0x7F, status >> 8 & 0xFF) {
    case (0, 0): return
    case (0, 2): throw Skipped(reason: said)
    case (0, _): throw Failed(description: "in another process: \(said)")
    case (let signal, _): throw Failed(description: "another process ended by signal \(signal)")
    }
  }

  /// Waits for the end by a signal.
  func endedBy(_ signal: Int32, line: UInt = #line) throws {
    let status = status()
    guard status & 0x7F == signal else {
      let said = String(decoding: Sys.read(words, 4096) ?? [], as: UTF8.self)
      throw Failed(
        description: "status \(status) \(said) instead of signal \(signal), line \(line)")
    }
  }

  private func status() -> Int32 {
    isDone = true
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    return status
  }
}

/// What one process tells another: that it has come so far.
struct Bell {
  fileprivate let reader: Int
  fileprivate let writer: Int

  func ring() { _ = Sys.write(writer, [1]) }

  /// True if it rings before the time is over.
  func rings(within milliseconds: Int32) -> Bool {
    var one = pollfd(fd: Int32(reader), events: Int16(POLLIN), revents: 0)
    guard poll(&one, 1, milliseconds) == 1 else { return false }
    return Sys.read(reader, 1)?.count == 1
  }

  func wait(line: UInt = #line) throws {
    try require(rings(within: 20_000), "another process does not go on", line: line)
  }
}

extension Place {
  func bell() throws -> Bell {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw failure("pipe") }
    return Bell(reader: keep(Int(ends[0])), writer: keep(Int(ends[1])))
  }
}

/// Runs a body in a process that sees mounts of its own: they are gone when it ends.
func withOwnMounts(_ place: Place, _ body: () throws -> Void) throws {
  try place.needRoot()
  try Child {
    if call(SYS_unshare, 0x20000) < 0 { throw Skipped(reason: "no mounts can be made") }
    try ok(mount(nil, "/", Mount.recursive | Mount.isPrivate), "mount --make-rprivate")
    try body()
  }.finish()
}

/// mount(2)'s flags.
enum Mount {
  static let readOnly = 1
  static let remount = 32
  static let bind = 4096
  static let recursive = 16384
  static let isPrivate = 1 << 18
}

func mount(_ source: Pointer, _ target: Pointer, _ flags: Int) -> Int {
  call(SYS_mount, Int(bitPattern: source), Int(bitPattern: target), 0, flags, 0)
}
