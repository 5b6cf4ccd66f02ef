internal import Glibc

// Faults of a C library that makes its own calls on descriptors, with the system's results and errno.
extension Faults {
  /// Calls pwrite(2), or write(2) without an offset, unless a fault forbids it.
  package static func write(
    to descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, at offset: Int64?
  ) -> Int {
    let most: (count: Int, dies: Bool)
    do throws(SystemError) {
      most = try passWrite("pwrite", path(of: descriptor), count)
    } catch {
      errno = error.errno
      return -1
    }
    let written =
      if let offset { unsafe pwrite(descriptor, bytes, most.count, off_t(offset)) } else {
        unsafe Glibc.write(descriptor, bytes, most.count)
      }
    if most.dies { die() }
    return written
  }

  /// Runs `body`, which syncs files; nil if a fault forbids it.
  package static func sync(_ paths: [String], _ body: () -> Int32) -> Int32? {
    guard isOn else { return body() }
    do throws(SystemError) {
      for path in paths { try pass(.sync, "fdatasync", path) }
    } catch {
      return nil
    }
    let result = body()
    if result == 0 { for path in paths { notify(.sync, path, .after(path)) } }
    return result
  }

  private static func path(of descriptor: Int32) -> String {
    guard isOn else { return "" }
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    return String(
      decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
