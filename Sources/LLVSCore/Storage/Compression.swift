internal import CZstd
internal import Synchronization

/// zstd with reused contexts: making a context costs more than compressing a map node.
package final class Compression: Sendable {
  private let compressors = ContextPool(make: ZSTD_createCCtx, free: { ZSTD_freeCCtx($0) })
  private let decompressors = ContextPool(make: ZSTD_createDCtx, free: { ZSTD_freeDCtx($0) })
  /// `ZSTD_c_blockDelimiters`, a macro that Swift does not see.
  private static let blockDelimiters = ZSTD_c_experimentalParam11
  /// `ZSTD_c_literalCompressionMode`.
  private static let literalMode = ZSTD_c_experimentalParam5

  package init() {}

  /// Returns the compressed bytes; nil if they do not save an eighth.
  package func compressed(_ bytes: UnsafeRawBufferPointer, level: Int32) -> [UInt8]? {
    guard bytes.count >= 64, !RandomBytes.isLikely(bytes) else { return nil }
    // A capacity below the input's size makes zstd give up early on bytes that do not shrink.
    return frame(of: bytes, level: level, capacity: bytes.count - bytes.count / 8)
  }

  /// Returns `head`, then one frame that only `base` can unpack and that is as short as the
  /// difference from it; nil if the frame would have more than `capacity` bytes or there is no
  /// memory.
  func delta(
    _ bytes: UnsafeRawBufferPointer, from base: [UInt8], capacity: Int, after head: [UInt8]
  ) -> [UInt8]? {
    guard capacity > 0, let context = compressors.acquire() else { return nil }
    defer {
      // Later frames must not depend on the base.
      ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters)
      compressors.release(context)
    }
    let window = Int32(max(10, Int.bitWidth - (bytes.count + base.count).leadingZeroBitCount))
    // Beyond this zstd does not look back, and would not find the common bytes.
    guard window <= 24 else { return nil }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1)
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window)
    var isWhole = false
    let result = [UInt8](unsafeUninitializedCapacity: head.count + capacity) { buffer, used in
      let size = base.withUnsafeBytes { prefix in
        ZSTD_CCtx_refPrefix(context, prefix.baseAddress, prefix.count)
        return ZSTD_compress2(
          context, buffer.baseAddress.map { $0 + head.count }, capacity, bytes.baseAddress,
          bytes.count)
      }
      isWhole = ZSTD_isError(size) == 0
      guard isWhole else { return }
      for (index, byte) in head.enumerated() { buffer[index] = byte }
      used = head.count + size
    }
    return isWhole ? result : nil
  }

  /// Returns `head`, then one frame that encodes the bytes by sequences, which may refer to a base
  /// before the bytes; nil if the frame would have more than `capacity` bytes, or zstd refuses
  /// them.
  ///
  /// The sequences are not checked: they must end with the last literals, as `zstd.h` requires of
  /// explicit blocks, of which this is one. Bytes that they do not cover are stored uncompressed if
  /// `isPlain`.
  func delta(
    _ bytes: UnsafeRawBufferPointer, sequences: [ZSTD_Sequence], capacity: Int,
    after head: [UInt8], isPlain: Bool
  ) -> [UInt8]? {
    guard capacity > 0, let context = compressors.acquire() else { return nil }
    defer {
      ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters)
      compressors.release(context)
    }
    // Nothing is searched for, so the smallest tables are enough.
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1)
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, 6)
    ZSTD_CCtx_setParameter(
      context, Compression.blockDelimiters, Int32(ZSTD_sf_explicitBlockDelimiters.rawValue))
    if isPlain {
      ZSTD_CCtx_setParameter(
        context, Compression.literalMode, Int32(ZSTD_ps_disable.rawValue))
    }
    var isWhole = false
    // zstd writes its last bytes in words, which need space.
    let space = capacity + 32
    let result = [UInt8](unsafeUninitializedCapacity: head.count + space) { buffer, used in
      let size = ZSTD_compressSequences(
        context, buffer.baseAddress.map { $0 + head.count }, space, sequences, sequences.count,
        bytes.baseAddress, bytes.count)
      isWhole = ZSTD_isError(size) == 0 && size <= capacity
      guard isWhole else { return }
      for (index, byte) in head.enumerated() { buffer[index] = byte }
      used = head.count + size
    }
    return isWhole ? result : nil
  }

  /// Returns the `length` bytes of a frame that ``delta(_:from:capacity:after:)`` made with this
  /// base; nil if the frame does not unpack to so many.
  func undelta(_ frame: ArraySlice<UInt8>, from base: [UInt8], length: Int) -> [UInt8]? {
    guard let context = decompressors.acquire() else { return nil }
    defer {
      ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters)
      decompressors.release(context)
    }
    var isWhole = false
    let result = [UInt8](unsafeUninitializedCapacity: length) { buffer, used in
      let size = base.withUnsafeBytes { prefix in
        frame.withUnsafeBytes { packed in
          ZSTD_DCtx_refPrefix(context, prefix.baseAddress, prefix.count)
          return ZSTD_decompressDCtx(
            context, buffer.baseAddress, length, packed.baseAddress, packed.count)
        }
      }
      isWhole = size == length
      used = isWhole ? length : 0
    }
    return isWhole ? result : nil
  }

  /// Returns one frame of at most `capacity` bytes; nil if it would be longer or there is no
  /// memory.
  package func frame(of bytes: UnsafeRawBufferPointer, level: Int32, capacity: Int) -> [UInt8]? {
    guard let context = compressors.acquire() else { return nil }
    defer { compressors.release(context) }
    var isWhole = false
    let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, used in
      let size = ZSTD_compressCCtx(
        context, buffer.baseAddress, capacity, bytes.baseAddress, bytes.count, level)
      isWhole = ZSTD_isError(size) == 0
      used = isWhole ? size : 0
    }
    return isWhole ? result : nil
  }

  /// Decompresses into exactly the bytes of `out`; false if the frame does not hold so many.
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) -> Bool {
    decompressed(bytes, into: out) == out.count
  }

  /// Returns the bytes of a frame that holds at most `capacity`, all of which is allocated; nil if
  /// it is damaged or holds more.
  package func unpacked(_ bytes: UnsafeRawBufferPointer, atMost capacity: Int) -> [UInt8]? {
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
    guard let context = decompressors.acquire() else { return nil }
    defer { decompressors.release(context) }
    let size = ZSTD_decompressDCtx(
      context, out.baseAddress, out.count, bytes.baseAddress, bytes.count)
    return ZSTD_isError(size) == 0 ? size : nil
  }
}

/// Contexts of zstd that were used and wait to be used again.
private final class ContextPool: Sendable {
  // Unchecked: the list owns the pointers; between acquire and release one thread uses each.
  private struct Contexts: @unchecked Sendable {
    var free: [OpaquePointer] = []
  }

  /// A context on its way between the list and the one thread that uses it.
  private struct Loan: @unchecked Sendable {
    let pointer: OpaquePointer?
  }

  private static let kept = 8
  private let make: @Sendable () -> OpaquePointer?
  private let free: @Sendable (OpaquePointer) -> Void
  // A leaf lock: no other lock is acquired while it is held.
  private let contexts = Mutex(Contexts())

  init(
    make: @escaping @Sendable () -> OpaquePointer?,
    free: @escaping @Sendable (OpaquePointer) -> Void
  ) {
    self.make = make
    self.free = free
  }

  deinit {
    contexts.withLock { contexts in
      for context in contexts.free { free(context) }
    }
  }

  /// Returns a context; nil if there is no memory for one.
  func acquire() -> OpaquePointer? {
    contexts.withLock { Loan(pointer: $0.free.popLast()) }.pointer ?? make()
  }

  func release(_ context: OpaquePointer) {
    let released = Loan(pointer: context)
    let isKept = contexts.withLock { contexts in
      guard contexts.free.count < Self.kept, let context = released.pointer else { return false }
      contexts.free.append(context)
      return true
    }
    if !isKept { free(context) }
  }
}
