import CShims
import Glibc

struct CPUAffinity {
  /// A thread with the affinity of this process.
  let model: Int32
  private var thread: Int32 = 0
  private var processor: Int32 = -1
  private var seen: Int32 = -1

  init(model: Int32) { self.model = model }

  var isMade: Bool { thread != 0 }

  /// Binds `thread` to the processor of `caller` if two calls in a row found the same one.
  mutating func follow(_ caller: Int32, with thread: Int32) {
    guard caller > 0, let found = Self.processor(of: caller) else { return }
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
  }

  /// Reads proc_pid_stat(5): the 39th field, the 37th after the name in parentheses.
  private static func processor(of thread: Int32) -> Int32? {
    let descriptor = unsafe open("/proc/\(thread)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
      guard count > 0 else { return nil }
      let line = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
      guard let nameEnd = unsafe line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
      var field = 1
      var value: Int32 = 0
      for index in (nameEnd + 1)..<count {
        let byte = unsafe line[index]
        if byte == UInt8(ascii: " ") {
          if field == 38 { return value }
          field += 1
          value = 0
        } else if (0x30...0x39).contains(byte), field == 38, value < 100_000 {
          value = value * 10 + Int32(byte & 15)
        }
      }
      return nil
    }
  }
}
