import LLVSCore
internal import Platform

/// A bundle: many versions in one compressed file that is written once.
///
/// A folder of bundles holds them in `bundles/`. This is version 1 of the format, which must not
/// change; integers are big-endian. A varint is an integer in groups of seven bits, lowest first,
/// with the high bit set in all but the last, in the fewest bytes and below 2^63:
///
///     bundle    head | frames | index | tail
///     head      "LLVSBDL" | format u8 = 1 | flags u32 = 0                            12 bytes
///     frames    the content cut in pieces of at most 1 MiB, each packed by itself
///     index     packed:
///                 varint frames | for each: varint bytes in the file, varint bytes unpacked
///                 varint versions | for each: id
///                   | varint offset, varint length of its description
///                   | varint offset, varint length of its changes
///     tail      index in the file u32 | index unpacked u32 | "LLVSBDLE"              16 bytes
///     packed    one zstd frame; or the bytes themselves, if both lengths are equal
///     id        u8 0 | the 16 bytes of an upper-case UUID;  or u8 length, 1 to 200 | UTF-8
///     description
///               u8 0 to 2 predecessors, each: varint 0 | id,  or varint n: the version n before
///               | timestamp u64, the bits of the double | varint 0, or 1 + valueDataSize
///               | varint pieces of metadata, ascending, each:
///                   varint length | key | varint length | data
///     changes   until their length is used up: u8 kind | varint length | key, and for
///                 1 insert, 2 update: varint length | bytes
///                 3 remove, 5 preserve removal: nothing
///                 4 preserve: id
///
/// Offsets count from the start of the unpacked content. In a bundle a version follows its
/// predecessors; predecessors that are not in the same bundle were in the folder before it, in a
/// bundle of any writer. A description means the same as a file `versions/ID` of the original's
/// format, changes the same as a file `changes/ID`, and both are checked alike. A program that
/// finds another format or a flag (1 is reserved for encrypted content) refuses the bundle by name.
///
/// A bundle's name is `WRITER-SEQUENCE-LENGTH-HASH.bundle`: the replica that wrote it, in letters
/// and digits; how many it wrote before, as ten digits or more; the length of the file; its SHA-256
/// as 64 lower-case hexadecimal digits. So equal names mean equal bytes, whoever writes them and
/// how often; a file that does not match its name is torn and counts as absent.
enum BundleFormat {
  static let head = Array("LLVSBDL".utf8) + [1, 0, 0, 0, 0]
  static let tailMagic = Array("LLVSBDLE".utf8)
  static let tailLength = 16
  static let directory = "bundles"

  /// The greatest length of a frame, unpacked, in bytes.
  static let frameLength = 1 << 20
  /// Bounds of a bundle: its versions, its frames, and the bytes of its index, unpacked.
  static let maximumVersions = 65_536
  static let maximumFrames = 1 << 20
  static let maximumIndex = 64 << 20

  /// The kinds of changes.
  enum Tag: UInt8 {
    case insert = 1
    case update, remove, preserve, preserveRemoval
  }
}

/// The name of a bundle's file.
struct BundleName: Hashable, Comparable {
  private static let suffix = ".bundle"

  let writer: String
  let sequence: UInt64
  let length: UInt64
  let hash: Digest

  init(writer: String, sequence: UInt64, length: UInt64, hash: Digest) {
    self.writer = writer
    self.sequence = sequence
    self.length = length
    self.hash = hash
  }

  /// The file's name.
  var text: String {
    let digits = String(sequence)
    let padding = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
    return "\(writer)-\(padding)\(digits)-\(length)-\(hash.hex)\(BundleName.suffix)"
  }

  /// Reads a file's name; nil unless it is exactly as ``text`` spells it.
  init?(_ text: String) {
    guard text.utf8.count <= 255, text.hasSuffix(BundleName.suffix) else { return nil }
    let parts = text.utf8.dropLast(BundleName.suffix.utf8.count).split(
      separator: UInt8(ascii: "-"), omittingEmptySubsequences: false
    ).map { Substring($0) }
    guard parts.count == 4, BundleName.isWriter(parts[0]),
      let sequence = BundleName.number(parts[1], digits: 10),
      let length = BundleName.number(parts[2], digits: 1), length <= UInt64(Int64.max),
      let hash = Digest(hex: parts[3])
    else { return nil }
    self.init(writer: String(parts[0]), sequence: sequence, length: length, hash: hash)
  }

  /// Reads a decimal number that is filled up with zeros to a number of digits and no further.
  private static func number(_ text: Substring, digits: Int) -> UInt64? {
    guard text.utf8.count >= digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      text.utf8.count == digits || text.utf8.first != 0x30
    else { return nil }
    return UInt64(text)
  }

  /// Names that have the same hash are one but for those of strangers, so no more goes into a table's.
  func hash(into hasher: inout Hasher) {
    hasher.combine(sequence)
    hasher.combine(hash.words.0)
  }

  static func == (a: BundleName, b: BundleName) -> Bool {
    a.sequence == b.sequence && a.hash == b.hash && a.length == b.length && a.writer == b.writer
  }

  /// Returns the sequence number after another; the greatest number stays, which only a peer's file
  /// could have, and then the hashes make names differ.
  static func sequence(after sequence: UInt64) -> UInt64 {
    sequence == .max ? sequence : sequence + 1
  }

  static func isWriter(_ text: some StringProtocol) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
      }
  }

  /// Orders names by writer, then in the order of writing.
  static func < (a: BundleName, b: BundleName) -> Bool {
    guard a.writer == b.writer else { return a.writer < b.writer }
    return (a.sequence, a.hash) < (b.sequence, b.hash)
  }
}

extension Digest {
  /// Reads 64 lower-case hexadecimal digits; nil for anything else.
  init?(hex text: some StringProtocol) {
    guard text.utf8.count == 64 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    var high: UInt8?
    for digit in text.utf8 {
      let value: UInt8
      switch digit {
      case 0x30...0x39: value = digit - 0x30
      case 0x61...0x66: value = digit - 0x61 + 10
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    self.init(bytes: bytes)
  }
}
