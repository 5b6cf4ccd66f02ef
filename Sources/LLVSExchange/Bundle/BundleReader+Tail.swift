import LLVSCore

extension BundleReader {
  /// The end of a bundle, which says where the directory is and what its hash is.
  struct Tail {
    let format: UInt8
    let isSealed: Bool
    /// The 8 bytes that tell the key, and the bundle's own 32 bytes; empty if it is not encrypted.
    let keyID: [UInt8]
    let salt: [UInt8]
    let directory: Range<UInt64>
    let unpacked: Int
    let hash: Digest

    init(reading bytes: any BundleBytes, of name: BundleName, _ label: String) throws(StoreError) {
      func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }
      let shortest = BundleFormat.headLength + UInt64(BundleFormat.tailLength)
      guard name.length >= shortest else { throw malformed("it is too short for a bundle") }
      let longest = min(
        UInt64(BundleFormat.sealedTailLength), name.length - BundleFormat.headLength)
      let end = try bytes.read((name.length - longest)..<name.length)
      guard let ending = BundleFormat.ending(end.suffix(8)) else {
        let head = try bytes.read(0..<BundleFormat.headLength)
        guard head.starts(with: BundleFormat.magic), head[7] > BundleFormat.number else {
          throw malformed("its end is malformed")
        }
        throw .fromTheFuture("\(label): it was made by a newer program")
      }
      (format, isSealed) = ending
      let length = isSealed ? BundleFormat.sealedTailLength : BundleFormat.tailLength
      guard end.count >= length else { throw malformed("its end is malformed") }
      let tail = Array(end.suffix(length))
      keyID = isSealed ? Array(tail[..<8]) : []
      salt = isSealed ? Array(tail[8..<40]) : []
      let fields = tail.withUnsafeBytes { raw -> (UInt32, UInt32, Digest)? in
        let start = length - BundleFormat.tailLength
        guard let hash = Digest(loading: raw, at: start + 8) else { return nil }
        return (
          raw.bigEndian(UInt32.self, at: start), raw.bigEndian(UInt32.self, at: start + 4), hash
        )
      }
      let before = name.length - UInt64(length)
      guard let (stands, unpacked, hash) = fields,
        unpacked > 0, unpacked <= UInt32(BundleFormat.maximumDirectory),
        UInt64(stands) <= UInt64(unpacked) + UInt64(isSealed ? BundleFormat.sealLength : 0),
        UInt64(stands) <= before - BundleFormat.headLength
      else { throw malformed("its end is malformed") }
      directory = (before - UInt64(stands))..<before
      self.unpacked = Int(unpacked)
      self.hash = hash
    }
  }
}
