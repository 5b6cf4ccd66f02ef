internal import CZstd
internal import Synchronization

/// zstd with its contexts kept: making one costs more than compressing a map node.
package final class Compression: Sendable {
  // The pointers are owned by the lists and used by one thread at a time between take and give.
  private struct Contexts: @unchecked Sendable {
    var compressing: [OpaquePointer] = []
    var decompressing: [OpaquePointer] = []
  }

  // A leaf lock: nothing else is taken while it is held.
  private let contexts = Mutex(Contexts())
  private static let kept = 8
  /// `ZSTD_c_blockDelimiters`, a macro that Swift does not see.
  private static let blockDelimiters = ZSTD_c_experimentalParam11
  /// `ZSTD_c_literalCompressionMode`.
  private static let literalMode = ZSTD_c_experimentalParam5

  package init() {}

  deinit {
    contexts.withLock { contexts in
      for context in contexts.compressing { ZSTD_freeCCtx(context) }
      for context in contexts.decompressing { ZSTD_freeDCtx(context) }
    }
  }

  /// The compressed bytes, nil where they do not save an eighth.
  package func compressed(_ bytes: UnsafeRawBufferPointer, level: Int32) -> [UInt8]? {
    guard bytes.count >= 64, !RandomBytes.isLikely(bytes) else { return nil }
    // A capacity below the input's size makes zstd give up early on what does not shrink.
    return frame(of: bytes, level: level, capacity: bytes.count - bytes.count / 8)
  }

  private func takeCompressing() -> OpaquePointer? {
    let taken = contexts.withLock { Loan(pointer: $0.compressing.popLast()) }
    return taken.pointer ?? ZSTD_createCCtx()
  }

  private func give(compressing context: OpaquePointer) {
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

  /// `head`, then one frame that can be unpacked only with `base`, which is as short as what differs from
  /// it; nil where the frame would have more than `capacity` bytes or there is no memory.
  func delta(
    _ bytes: UnsafeRawBufferPointer, from base: [UInt8], capacity: Int, after head: [UInt8]
  ) -> [UInt8]? {
    guard capacity > 0, let context = takeCompressing() else { return nil }
    defer {
      // No later frame is to need the base.
      ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters)
      give(compressing: context)
    }
    let window = Int32(max(10, Int.bitWidth - (bytes.count + base.count).leadingZeroBitCount))
    // Beyond this zstd does not look back, and what both have in common is not found.
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

  /// `head`, then one frame that tells the bytes by sequences, which may reach back into a base before the
  /// bytes; nil where the frame would have more than `capacity` bytes, or zstd does not take them.
  ///
  /// The sequences are taken as right: they end with the last literals, as `zstd.h` has it for explicit
  /// blocks, of which this is one. What they do not tell is written as it is where that `isPlain`.
  func delta(
    _ bytes: UnsafeRawBufferPointer, told sequences: [ZSTD_Sequence], capacity: Int,
    after head: [UInt8], isPlain: Bool
  ) -> [UInt8]? {
    guard capacity > 0, let context = takeCompressing() else { return nil }
    defer {
      ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters)
      give(compressing: context)
    }
    // Nothing is searched for, so nothing is kept to search in.
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1)
    ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, 6)
    ZSTD_CCtx_setParameter(
      context, Compression.blockDelimiters, Int32(ZSTD_sf_explicitBlockDelimiters.rawValue))
    if isPlain {
      ZSTD_CCtx_setParameter(
        context, Compression.literalMode, Int32(ZSTD_ps_disable.rawValue))
    }
    var isWhole = false
    // What zstd writes last it writes in words, for which there has to be room.
    let room = capacity + 32
    let result = [UInt8](unsafeUninitializedCapacity: head.count + room) { buffer, used in
      let size = ZSTD_compressSequences(
        context, buffer.baseAddress.map { $0 + head.count }, room, sequences, sequences.count,
        bytes.baseAddress, bytes.count)
      isWhole = ZSTD_isError(size) == 0 && size <= capacity
      guard isWhole else { return }
      for (index, byte) in head.enumerated() { buffer[index] = byte }
      used = head.count + size
    }
    return isWhole ? result : nil
  }

  /// The bytes, `length` of them, of a frame that ``delta(_:from:capacity:after:)`` made with this base;
  /// nil where they do not come out so.
  func undelta(_ frame: ArraySlice<UInt8>, from base: [UInt8], length: Int) -> [UInt8]? {
    guard let context = takeDecompressing() else { return nil }
    defer {
      ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters)
      give(decompressing: context)
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

  /// One frame of at most `capacity` bytes, nil where it would be longer or there is no memory.
  package func frame(of bytes: UnsafeRawBufferPointer, level: Int32, capacity: Int) -> [UInt8]? {
    guard let context = takeCompressing() else { return nil }
    defer { give(compressing: context) }
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
  package func decompress(
    _ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) -> Bool {
    decompressed(bytes, into: out) == out.count
  }

  /// The bytes of a frame that holds at most `capacity`, all of which is allocated; nil where it is
  /// damaged or holds more.
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
    guard let context = takeDecompressing() else { return nil }
    defer { give(decompressing: context) }
    let size = ZSTD_decompressDCtx(
      context, out.baseAddress, out.count, bytes.baseAddress, bytes.count)
    return ZSTD_isError(size) == 0 ? size : nil
  }

  private func takeDecompressing() -> OpaquePointer? {
    let taken = contexts.withLock { Loan(pointer: $0.decompressing.popLast()) }
    return taken.pointer ?? ZSTD_createDCtx()
  }

  private func give(decompressing context: OpaquePointer) {
    let given = Loan(pointer: context)
    let isKept = contexts.withLock { contexts in
      guard contexts.decompressing.count < Compression.kept, let context = given.pointer else {
        return false
      }
      contexts.decompressing.append(context)
      return true
    }
    if !isKept { ZSTD_freeDCtx(context) }
  }
}

/// A context on its way between the list and the one thread that uses it.
private struct Loan: @unchecked Sendable {
  let pointer: OpaquePointer?
}
