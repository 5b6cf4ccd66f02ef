import CShims
import Glibc

// Asynchronous calls (io_submit(2)), raw as all others here: the C library has none.

/// A context of asynchronous calls, and its one call at a time.
private final class AsynchronousCalls {
  private var context = 0

  init() throws {
    let made = withUnsafeMutablePointer(to: &context) {
      call(SYS_io_setup, 1, Int(bitPattern: $0))
    }
    if made < 0, errno == ENOSYS { throw Skipped(reason: "the kernel has no asynchronous calls") }
    try ok(made, "io_setup")
  }

  deinit { _ = call(SYS_io_destroy, context) }

  /// Writes, and returns once the kernel says that it is done.
  func write(_ fd: Int, _ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    // struct iocb of linux/aio_abi.h: eight words; the opcode IOCB_CMD_PWRITE is 1.
    var block = [UInt64](repeating: 0, count: 8)
    block[2] = 1 | UInt64(fd) << 32
    block[3] = UInt64(UInt(bitPattern: bytes.baseAddress))
    block[4] = UInt64(bytes.count)
    block[5] = UInt64(offset)
    // struct io_event: the call's data and block, and two results.
    var event = [Int64](repeating: 0, count: 4)
    try block.withUnsafeMutableBytes { block in
      var first = Int(bitPattern: block.baseAddress)
      try ok(
        withUnsafeMutablePointer(to: &first) {
          call(SYS_io_submit, context, 1, Int(bitPattern: $0))
        }, "io_submit")
      try event.withUnsafeMutableBytes {
        _ = try ok(
          call(SYS_io_getevents, context, 1, 1, Int(bitPattern: $0.baseAddress), 0),
          "io_getevents")
      }
    }
    try equal(event[2], Int64(bytes.count))
  }
}

func addAsynchronousChecks(_ suite: inout Suite) {
  suite.check("io_submit: a read after a direct write shows its bytes, whoever reads meanwhile") {
    place in
    let size = 64 << 10
    try place.file("f")
    try ok(Sys.truncate(place("f"), size))
    let direct = place.keep(
      try Feature.direct.needed(EINVAL, Sys.open(place("f"), O_RDWR | Linux.direct)))
    let reader = try place.open("f", O_RDONLY)
    // Brings the old bytes into the page cache while they are written over.
    let other = try Child { while Sys.pread(reader, size, at: 0) != nil {} }
    defer { kill(other.id, SIGKILL) }
    let calls = try AsynchronousCalls()
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer { room.deallocate() }
    for round in 1...1500 {
      let byte = UInt8(round & 0xFF)
      for index in 0..<size { room[index] = byte }
      try calls.write(direct, room, at: 0)
      let found = Sys.pread(reader, size, at: 0) ?? []
      try require(
        found.count == size && found.allSatisfy { $0 == byte }, "old bytes after write \(round)")
    }
  }
}
