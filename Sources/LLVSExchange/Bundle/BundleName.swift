import LLVSCore

/// The name of a bundle's file, `WRITER-SEQUENCE-LENGTH-HASH.bundle`.
/// Equal names mean equal bytes. A file that does not match its name is torn and counts as absent.
struct BundleName: Hashable, Comparable {
  private static let suffix = ".bundle"
  let writer: String
  let sequence: UInt64
  let length: UInt64
  let hash: Digest

  var text: String {
    let digits = String(sequence)
    let padding = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
    return "\(writer)-\(padding)\(digits)-\(length)-\(hash.hex)\(BundleName.suffix)"
  }
}

extension BundleName {
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

  /// Reads a decimal number that is padded with zeros to `digits` and no further.
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

  // Only strangers' names share a hash, so a table needs no more.
  func hash(into hasher: inout Hasher) {
    hasher.combine(sequence)
    hasher.combine(hash.words.0)
  }

  static func == (a: BundleName, b: BundleName) -> Bool {
    a.sequence == b.sequence && a.hash == b.hash && a.length == b.length && a.writer == b.writer
  }

  static func isWriter(_ text: String) -> Bool { isWriter(text.utf8) }

  private static func isWriter(_ text: some Collection<UInt8>) -> Bool {
    (1...64).contains(text.count)
      && text.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
      }
  }

  static func < (a: BundleName, b: BundleName) -> Bool {
    guard a.writer == b.writer else { return a.writer < b.writer }
    return (a.sequence, a.hash, a.length) < (b.sequence, b.hash, b.length)
  }
}

extension Digest {
  init?(hex text: some StringProtocol) { self.init(hex: Array(text.utf8)) }

  // Reads 64 lower-case hexadecimal digits as bytes of text.
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
