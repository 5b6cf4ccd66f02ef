import LLVSCore

extension Bundle2Reader {
  /// The end of a bundle, which says where the directory is and what its hash is.
  struct Tail {
    let isSealed: Bool
    /// The 8 bytes that tell the key, and the 32 bytes that are the bundle's own; empty for a bundle
    /// that is not encrypted.
    let keyID: [UInt8]
    let salt: [UInt8]
    /// The place of the directory.
    let directory: Range<UInt64>
    /// The length of the directory, unpacked.
    let unpacked: Int
    let hash: Digest

    init(
      reading bytes: any BundleBytes, of name: BundleName, _ label: String
    ) throws(StoreError) {
      func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }
      let shortest = Bundle2Format.headLength + UInt64(Bundle2Format.tailLength)
      guard name.length >= shortest else { throw malformed("it is too short for a bundle") }
      let longest = min(
        UInt64(Bundle2Format.sealedTailLength), name.length - Bundle2Format.headLength)
      let end = try bytes.read((name.length - longest)..<name.length)
      let magic = Array(end.suffix(8))
      guard magic == Bundle2Format.tailMagic || magic == Bundle2Format.sealedTailMagic else {
        let head = try bytes.read(0..<Bundle2Format.headLength)
        guard head.starts(with: Array("LLVSBDL".utf8)), head[7] > 2 else {
          throw malformed("its end is malformed")
        }
        throw .fromTheFuture("\(label): it was made by a newer program")
      }
      isSealed = magic == Bundle2Format.sealedTailMagic
      let length = isSealed ? Bundle2Format.sealedTailLength : Bundle2Format.tailLength
      guard end.count >= length else { throw malformed("its end is malformed") }
      let tail = Array(end.suffix(length))
      keyID = isSealed ? Array(tail[..<8]) : []
      salt = isSealed ? Array(tail[8..<40]) : []
      let fields = tail.withUnsafeBytes { raw -> (UInt32, UInt32, Digest)? in
        let start = length - Bundle2Format.tailLength
        guard let hash = Digest(loading: raw, at: start + 8) else { return nil }
        return (
          raw.bigEndian(UInt32.self, at: start), raw.bigEndian(UInt32.self, at: start + 4), hash
        )
      }
      let before = name.length - UInt64(length)
      guard let (stands, unpacked, hash) = fields,
        unpacked > 0, unpacked <= UInt32(Bundle2Format.maximumDirectory),
        UInt64(stands) <= UInt64(unpacked) + UInt64(isSealed ? Bundle2Format.sealLength : 0),
        UInt64(stands) <= before - Bundle2Format.headLength
      else { throw malformed("its end is malformed") }
      directory = (before - UInt64(stands))..<before
      self.unpacked = Int(unpacked)
      self.hash = hash
    }
  }
}
