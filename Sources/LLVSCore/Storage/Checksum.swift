internal import CXXHash

/// XXH3-64, the checksum of all data on disk.
package enum Checksum {
  package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    llvs_xxh3_64bits(bytes.baseAddress, bytes.count, seed)
  }

  package static func of(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { of($0) } }
}
