internal import CZstd
internal import Synchronization

/// zstd with its contexts kept: making one costs more than compressing a map node.
final class Compression: Sendable {
  // The pointers are owned by the lists and used by one thread at a time between take and give.
  private struct Contexts: @unchecked Sendable {
    var compressing: [OpaquePointer] = []
    var decompressing: [OpaquePointer] = []
  }

  // A leaf lock: nothing else is taken while it is held.
  private let contexts = Mutex(Contexts())
  private static let kept = 8

  deinit {
    contexts.withLock { contexts in
      for context in contexts.compressing { ZSTD_freeCCtx(context) }
      for context in contexts.decompressing { ZSTD_freeDCtx(context) }
    }
  }

  /// The compressed bytes, nil where they do not save an eighth.
  func compressed(_ bytes: UnsafeRawBufferPointer, level: Int32) -> [UInt8]? {
    guard bytes.count >= 64 else { return nil }
    // A capacity below the input's size makes zstd give up early on what does not shrink.
    return frame(of: bytes, level: level, capacity: bytes.count - bytes.count / 8)
  }

  /// One frame of at most `capacity` bytes, nil where it would be longer or there is no memory.
  func frame(of bytes: UnsafeRawBufferPointer, level: Int32, capacity: Int) -> [UInt8]? {
    let taken = contexts.withLock { Loan(pointer: $0.compressing.popLast()) }
    guard let context = taken.pointer ?? ZSTD_createCCtx() else { return nil }
    defer {
      let given = Loan(pointer: context)
      let isKept = contexts.withLock { contexts in
        guard contexts.compressing.count < Compression.kept, let context = given.pointer else {
          return false
        }
        contexts.compressing.append(context)
        return true
      }
      if !isKept { ZSTD_freeCCtx(context) }
    }
    var isWhole = false
    let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, used in
      let size = ZSTD_compressCCtx(
        context, buffer.baseAddress, capacity, bytes.baseAddress, bytes.count, level)
      isWhole = ZSTD_isError(size) == 0
      used = isWhole ? size : 0
    }
    return isWhole ? result : nil
  }

  /// Decompresses into exactly the bytes of `out`; false where they do not come out so.
  func decompress(
    _ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) -> Bool {
    decompressed(bytes, into: out) == out.count
  }

  /// The bytes of a frame that holds at most `capacity`, all of which is allocated; nil where it is
  /// damaged or holds more.
  func unpacked(_ bytes: UnsafeRawBufferPointer, atMost capacity: Int) -> [UInt8]? {
    var isWhole = false
    let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, used in
      let size = decompressed(bytes, into: UnsafeMutableRawBufferPointer(buffer))
      isWhole = size != nil
      used = size ?? 0
    }
    return isWhole ? result : nil
  }

  private func decompressed(
    _ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) -> Int? {
    let taken = contexts.withLock { Loan(pointer: $0.decompressing.popLast()) }
    guard let context = taken.pointer ?? ZSTD_createDCtx() else { return nil }
    let size = ZSTD_decompressDCtx(
      context, out.baseAddress, out.count, bytes.baseAddress, bytes.count)
    let given = Loan(pointer: context)
    let isKept = contexts.withLock { contexts in
      guard contexts.decompressing.count < Compression.kept, let context = given.pointer else {
        return false
      }
      contexts.decompressing.append(context)
      return true
    }
    if !isKept { ZSTD_freeDCtx(context) }
    return ZSTD_isError(size) == 0 ? size : nil
  }
}

/// A context on its way between the list and the one thread that uses it.
private struct Loan: @unchecked Sendable {
  let pointer: OpaquePointer?
}
