import LLVSCore

/// The name of an item: a piece of a value that bundles hold.
/// The kind belongs to the name: a file's bytes may be a node's hashed form, with the same digest.
struct BundleItem: Hashable, Sendable {
  enum Kind: UInt8, Sendable {
    /// Bytes of a value, under their SHA-256.
    case chunk = 0
    /// A node of a long value that another node refers to, under its node digest.
    case node
    /// The topmost node of a long value, under the value digest.
    case top
  }

  var kind: Kind
  var digest: Digest

  /// The item that a value of so many bytes begins with.
  init(value digest: Digest, length: UInt64) {
    self.init(length > UInt64(ValueChunking.singleChunk) ? .top : .chunk, digest)
  }

  init(_ kind: Kind, _ digest: Digest) {
    self.kind = kind
    self.digest = digest
  }

  static func longest(_ kind: Kind) -> Int {
    switch kind {
    case .chunk: ValueChunking.maximum
    case .node, .top: ValueNodeForm.longest
    }
  }

  func isProved(by bytes: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .chunk: return Digest.of(bytes) == digest
    case .node: return ValueNodeForm.digest(ofBytes: bytes) == digest
    case .top:
      guard let node = ValueNodeForm(bytes) else { return false }
      return Digest.ofValue(length: node.length, top: ValueNodeForm.digest(ofBytes: bytes))
        == digest
    }
  }
}

/// An item of a bundle, whole or as a patch of chunks that are whole elsewhere.
struct HeldItem: Hashable, Sendable {
  var item: BundleItem
  var isPatch = false
}

/// A whole chunk that others are written as patches of.
struct BundleBase: Hashable, Sendable {
  let digest: Digest
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    digest = Digest.of(bytes)
  }
}

struct ValueNodeForm {
  enum Part: Hashable {
    case chunk(Digest)
    case zeros
    case node(Digest)

    /// The item that holds the part; nil for zeros.
    var item: BundleItem? {
      switch self {
      case .chunk(let digest): BundleItem(.chunk, digest)
      case .zeros: nil
      case .node(let digest): BundleItem(.node, digest)
      }
    }
  }

  static let longest = 1 + 256 * 41
  let level: UInt8
  let parts: [(length: UInt64, part: Part)]
  /// The number of bytes of the value below the node.
  let length: UInt64

  /// Reads a node; nil if it is malformed.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let level = reader.integer(UInt8.self), level < 16 else { return nil }
    var parts: [(length: UInt64, part: Part)] = []
    var sum: UInt64 = 0
    while reader.remaining > 0 {
      guard parts.count < 256, let tag = reader.integer(UInt8.self),
        let length = reader.integer(UInt64.self), length > 0,
        // The sum stays below 2^63, as all lengths in bundles do.
        length <= UInt64(Int64.max), sum <= UInt64(Int64.max) - length
      else { return nil }
      sum += length
      switch tag {
      case 0:
        guard level == 0, length <= UInt64(ValueChunking.maximum), let digest = reader.digest()
        else { return nil }
        parts.append((length, .chunk(digest)))
      case 1: parts.append((length, .zeros))
      case 2:
        guard level > 0, let digest = reader.digest() else { return nil }
        parts.append((length, .node(digest)))
      default: return nil
      }
    }
    guard !parts.isEmpty else { return nil }
    self.level = level
    self.parts = parts
    length = sum
  }

  static func digest(ofBytes bytes: UnsafeRawBufferPointer) -> Digest {
    var hasher = SHA256Hasher()
    hasher.update(Array("llvs value node 1".utf8))
    hasher.update(bytes)
    return hasher.finish()
  }
}
