/// A generator whose numbers follow from its seed (SplitMix64), so that a failure can be repeated.
package struct SeededRandom: RandomNumberGenerator {
  package let seed: UInt64
  private var state: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension RandomNumberGenerator {
  /// Bytes that no compressor makes smaller.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    // Eight at a time: what is not optimised takes as long for one.
    [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, used in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var at = 0
      while at < count {
        raw.storeBytes(of: next(), toByteOffset: at, as: UInt64.self)
        at += 8
      }
      used = count
    }
  }
}

extension [UInt8] {
  /// Bytes that no compressor makes smaller, the same for the same seed.
  package static func random(seed: UInt64, _ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }
}
