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
    var text = text
    guard let name = text.withUTF8(BundleName.read) else { return nil }
    self = name
  }

  // A list shows all names at every exchange.
  private static func read(_ text: UnsafeBufferPointer<UInt8>) -> BundleName? {
    guard text.count <= 255, text.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else {
      return nil
    }
    var rest = text.dropLast(suffix.utf8.count)
    func next() -> Slice<UnsafeBufferPointer<UInt8>>? {
      guard let end = rest.firstIndex(of: UInt8(ascii: "-")) else { return nil }
      defer { rest = rest[(end + 1)...] }
      return rest[..<end]
    }
    guard let writer = next(), isWriter(writer),
      let sequence = next().flatMap({ number($0, digits: 10) }),
      let length = next().flatMap({ number($0, digits: 1) }), length <= UInt64(Int64.max),
      let hash = Digest(hex: rest)
    else { return nil }
    return BundleName(
      writer: String(decoding: writer, as: UTF8.self), sequence: sequence, length: length,
      hash: hash)
  }

  /// Reads a decimal number that is filled up with zeros to a number of digits and no further.
  private static func number(_ text: Slice<UnsafeBufferPointer<UInt8>>, digits: Int) -> UInt64? {
    guard text.count >= digits, text.count == digits || text.first != 0x30 else { return nil }
    var number: UInt64 = 0
    for digit in text {
      guard (0x30...0x39).contains(digit) else { return nil }
      let (tens, isTooGreat) = number.multipliedReportingOverflow(by: 10)
      let (sum, isGreater) = tens.addingReportingOverflow(UInt64(digit - 0x30))
      guard !isTooGreat, !isGreater else { return nil }
      number = sum
    }
    return number
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

  static func isWriter(_ text: String) -> Bool { isWriter(text.utf8) }

  private static func isWriter(_ text: some Collection<UInt8>) -> Bool {
    (1...64).contains(text.count)
      && text.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
      }
  }

  /// Orders names by writer, then in the order of writing.
  static func < (a: BundleName, b: BundleName) -> Bool {
    guard a.writer == b.writer else { return a.writer < b.writer }
    return (a.sequence, a.hash, a.length) < (b.sequence, b.hash, b.length)
  }
}

extension Digest {
  /// Reads 64 lower-case hexadecimal digits; nil for anything else.
  init?(hex text: some StringProtocol) { self.init(hex: Array(text.utf8)) }

  /// Reads the digits as bytes of text.
  fileprivate init?(hex text: some Collection<UInt8>) {
    guard text.count == 64 else { return nil }
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    for (place, digit) in text.enumerated() {
      let value: UInt8
      switch digit {
      case 0x30...0x39: value = digit - 0x30
      case 0x61...0x66: value = digit - 0x61 + 10
      default: return nil
      }
      // A word has 16 digits.
      if place % 16 == 0 { words = (words.1, words.2, words.3, 0) }
      words.3 = words.3 << 4 | UInt64(value)
    }
    self.init(words: words)
  }
}
