import CShims
import Glibc

struct CPUAffinity {
  /// A thread with the affinity of this process.
  let model: Int32
  private var thread: Int32 = 0
  private var processor: Int32 = -1
  private var seen: Int32 = -1
  /// The thread whose proc_pid_stat(5) is open, and its descriptor; -1 for none.
  private var caller: Int32 = 0
  private var status: Int32 = -1

  init(model: Int32) { self.model = model }

  var isMade: Bool { thread != 0 }

  /// Binds `thread` to the processor of `caller` if two calls in a row found the same one.
  mutating func follow(_ caller: Int32, with thread: Int32) {
    guard caller > 0, let found = processor(of: caller) else { return }
    defer { seen = found }
    guard found == seen, found != processor || thread != self.thread else { return }
    if thread != self.thread { end() }
    guard llvs_keep_thread_on(thread, found) == 0 else { return }
    self.thread = thread
    processor = found
  }

  mutating func end() {
    if thread != 0 { _ = llvs_let_thread_roam(thread, model) }
    thread = 0
    processor = -1
    seen = -1
    closeStatus()
  }

  private mutating func closeStatus() {
    if status >= 0 { close(status) }
    status = -1
  }

  /// Reads proc_pid_stat(5); nil if the thread has ended.
  private mutating func processor(of thread: Int32) -> Int32? {
    if status < 0 || thread != caller {
      closeStatus()
      caller = thread
      status = unsafe open("/proc/\(thread)/stat", O_RDONLY | O_CLOEXEC)
    }
    let found = unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      let count = unsafe pread(status, buffer.baseAddress, buffer.count, 0)
      return unsafe Self.processor(in: UnsafeRawBufferPointer(rebasing: buffer[..<max(count, 0)]))
    }
    // Another thread may get the number of one that ended.
    if found == nil { closeStatus() }
    return found
  }

  /// Finds the 39th field, the 37th after the name in parentheses.
  private static func processor(in line: UnsafeRawBufferPointer) -> Int32? {
    // A name has at most 63 bytes, and any of them may be a parenthesis.
    guard var index = unsafe line.prefix(96).lastIndex(of: UInt8(ascii: ")")) else { return nil }
    var spaces = 0
    while spaces < 37 {
      index += 1
      guard index < line.count else { return nil }
      if unsafe line[index] == UInt8(ascii: " ") { spaces += 1 }
    }
    var value: Int32 = 0
    while index + 1 < line.count {
      index += 1
      let byte = unsafe line[index]
      guard byte != UInt8(ascii: " ") else { return value }
      guard (0x30...0x39).contains(byte), value < 100_000 else { return nil }
      value = value * 10 + Int32(byte & 15)
    }
    return nil
  }
}
