internal import CZstd
internal import Synchronization

/// zstd with reused contexts: making a context costs more than compressing a map node.
package final class Compression: Sendable {
  private let compressors = ContextPool(make: ZSTD_createCCtx, free: { ZSTD_freeCCtx($0) })
  private let decompressors = ContextPool(make: ZSTD_createDCtx, free: { ZSTD_freeDCtx($0) })
  /// `ZSTD_c_blockDelimiters`, a macro that Swift does not see.
  private static let blockDelimiters = ZSTD_c_experimentalParam11
  private static let literalMode = ZSTD_c_experimentalParam5

  package init() {}

  /// Returns the compressed bytes; nil if they do not save an eighth.
  package func compressed(_ bytes: UnsafeRawBufferPointer, level: Int32) -> [UInt8]? {
    guard bytes.count >= 64, !RandomBytes.isLikely(bytes) else { return nil }
    // With a capacity below the input's size zstd aborts early on bytes that do not shrink.
    return frame(of: bytes, level: level, capacity: bytes.count - bytes.count / 8)
  }

  /// Returns `head`, then one short frame that only `base` can unpack; nil if the frame would have more than
  /// `capacity` bytes or memory is short.
  package func delta(
    _ bytes: UnsafeRawBufferPointer, from base: [UInt8], capacity: Int, after head: [UInt8] = []
  ) -> [UInt8]? {
    guard capacity > 0, let context = compressors.acquire() else { return nil }
    defer {
      // Later frames must not depend on the base.
      ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters)
      compressors.release(context)
    }
    let window = Int32(max(10, Int.bitWidth - (bytes.count + base.count).leadingZeroBitCount))
    // zstd does not look back further, and would not find the common bytes.
    guard window <= 24 else { return nil }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1)
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window)
    return Compression.frame(after: head, capacity) { out, capacity in
      base.withUnsafeBytes { prefix in
        ZSTD_CCtx_refPrefix(context, prefix.baseAddress, prefix.count)
        return ZSTD_compress2(context, out, capacity, bytes.baseAddress, bytes.count)
      }
    }
  }

  /// Returns `head`, then one frame that encodes the bytes by sequences, which may refer to a base before the
  /// bytes; nil if the frame would have more than `capacity` bytes, or zstd refuses them.
  ///
  /// The sequences are not checked: they must end with the last literals, as `zstd.h` requires of an explicit
  /// block. Other bytes are stored uncompressed if `isPlain`.
  func delta(
    _ bytes: UnsafeRawBufferPointer, sequences: [ZSTD_Sequence], capacity: Int,
    after head: [UInt8], isPlain: Bool
  ) -> [UInt8]? {
    guard capacity > 0, let context = compressors.acquire() else { return nil }
    defer {
      ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters)
      compressors.release(context)
    }
    // Without a search the smallest tables are enough.
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1)
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, 6)
    ZSTD_CCtx_setParameter(
      context, Compression.blockDelimiters, Int32(ZSTD_sf_explicitBlockDelimiters.rawValue))
    if isPlain {
      ZSTD_CCtx_setParameter(
        context, Compression.literalMode, Int32(ZSTD_ps_disable.rawValue))
    }
    // zstd writes its last bytes in words, which need space.
    return Compression.frame(after: head, capacity, spare: 32) { out, space in
      ZSTD_compressSequences(
        context, out, space, sequences, sequences.count, bytes.baseAddress, bytes.count)
    }
  }

  /// Returns `head`, then the frame that `compress` writes; nil if it fails or the frame would have more than
  /// `capacity` bytes. `compress` gets `spare` bytes more than that.
  private static func frame(
    after head: [UInt8], _ capacity: Int, spare: Int = 0,
    _ compress: (UnsafeMutablePointer<UInt8>?, Int) -> Int
  ) -> [UInt8]? {
    filled(head.count + capacity + spare) { out in
      let start = out.baseAddress?.assumingMemoryBound(to: UInt8.self)
      let size = compress(start.map { $0 + head.count }, capacity + spare)
      guard ZSTD_isError(size) == 0, size <= capacity else { return nil }
      out.copyBytes(from: head)
      return head.count + size
    }
  }

  private static func filled(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int?
  ) -> [UInt8]? {
    var isWhole = false
    let bytes = [UInt8](count: count) { out in
      let used = body(out)
      isWhole = used != nil
      return used ?? 0
    }
    return isWhole ? bytes : nil
  }

  /// Returns the `length` bytes of a frame that was made with this base; nil for another length.
  package func undelta(_ frame: ArraySlice<UInt8>, from base: [UInt8], length: Int) -> [UInt8]? {
    guard let context = decompressors.acquire() else { return nil }
    defer {
      ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters)
      decompressors.release(context)
    }
    return Compression.filled(length) { out in
      let size = base.withUnsafeBytes { prefix in
        frame.withUnsafeBytes { packed in
          ZSTD_DCtx_refPrefix(context, prefix.baseAddress, prefix.count)
          return ZSTD_decompressDCtx(
            context, out.baseAddress, length, packed.baseAddress, packed.count)
        }
      }
      return size == length ? length : nil
    }
  }

  /// Returns one frame of at most `capacity` bytes; nil if it would be longer or there is no memory.
  package func frame(of bytes: UnsafeRawBufferPointer, level: Int32, capacity: Int) -> [UInt8]? {
    guard let context = compressors.acquire() else { return nil }
    defer { compressors.release(context) }
    return Compression.filled(capacity) { out in
      let size = ZSTD_compressCCtx(
        context, out.baseAddress, capacity, bytes.baseAddress, bytes.count, level)
      return ZSTD_isError(size) == 0 ? size : nil
    }
  }

  /// Decompresses into exactly the bytes of `out`; false if the frame holds fewer or more.
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) -> Bool { decompressed(bytes, into: out) == out.count }

  /// Returns the bytes of a frame, at most `capacity`, allocating all of it; nil if the frame is damaged.
  package func unpacked(_ bytes: UnsafeRawBufferPointer, atMost capacity: Int) -> [UInt8]? {
    Compression.filled(capacity) { decompressed(bytes, into: $0) }
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

private final class ContextPool: Sendable {
  // Unchecked: the list owns the pointers; between acquire and release one thread uses each.
  private struct Contexts: @unchecked Sendable { var free: [OpaquePointer] = [] }

  /// A context between the list and the one thread that uses it.
  private struct Loan: @unchecked Sendable { let pointer: OpaquePointer? }

  private static let kept = 8
  private let make: @Sendable () -> OpaquePointer?
  private let free: @Sendable (OpaquePointer) -> Void
  // A leaf lock.
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
