import LLVSCore

/// Bundles: many versions in one compressed file, with each value's bytes once (docs/formats.md, "Bundles").
///
///     bundle    head | content frames | outline frames | table frames | directory | tail
///
/// Content frames hold *items*: chunks of values, and nodes of long values. The table says which
/// item is where. The outline holds the versions with their changes, which refer to items by their
/// number, or by digest where an item is left out because another bundle holds it.
enum BundleFormat {
  static let folder = "bundles"
  static let magic = Array("LLVSBDL".utf8)
  static let number: UInt8 = 4
  /// The flag in the head of a bundle whose frames are encrypted.
  static let sealedFlag: UInt32 = 1

  static func head(isSealed: Bool, format: UInt8 = number) -> [UInt8] {
    var head = magic + [format]
    head.append(bigEndian: isSealed ? sealedFlag : 0)
    return head
  }

  static let headLength: UInt64 = 12
  /// The formats that are read. Patches have up to four bases in format 3, and bundles of format 2 have no patches.
  static let known = 2...number

  static func tailMagic(isSealed: Bool, format: UInt8 = number) -> [UInt8] {
    Array("LLVSBD\(isSealed ? "S" : "P")\(format)".utf8)
  }

  /// Returns what the last bytes of a bundle say; nil for no known format.
  static func ending(_ magic: some Sequence<UInt8>) -> (format: UInt8, isSealed: Bool)? {
    known.flatMap { [($0, false), ($0, true)] }.first { format, isSealed in
      tailMagic(isSealed: isSealed, format: format).elementsEqual(magic)
    }
  }

  static let tailLength = 48
  static let sealedTailLength = 88
  /// The number of bytes that encryption adds to a frame.
  static let sealLength = 16

  enum FrameKind: UInt64, Sendable {
    case content = 0
    case outline, table, directory
  }

  /// The greatest length of a frame, unpacked, in bytes; items are at most as long.
  static let frameLength = 1 << 20
  /// Shorter items share frames of up to ``sharedFrameLength``.
  static let aloneLength = 32_768
  static let sharedFrameLength = 262_144
  /// The flag of an item's kind in the table, if the item is a patch.
  static let patchFlag: UInt8 = 0x80
  /// The most chunks that a patch is based on, and their greatest length together in bytes.
  static let mostBases = 32
  static let longestBases = 1 << 20
  /// Shorter chunks are written whole, because little would be saved.
  static let shortestPatched = 4096
  static let maximumDirectory = 16 << 20
  static let maximumEntries = 65_536
  static let maximumItems = 1 << 20
  static let maximumContentFrames = 1 << 17
  static let maximumOtherFrames = 1 << 16
  /// The most bundles that a bundle may need, and writers that it may speak for.
  static let maximumNeeds = 1024
  static let maximumClaims = 1024
  static let maximumRuns = 65_536
  /// Bundles up to this length are read at once; of longer ones the last ``suffixLength`` first.
  static let wholeLength: UInt64 = 262_144
  static let suffixLength: UInt64 = 65_536
  /// The flag of a version whose content digest follows its description.
  static let digestFlag: UInt8 = 1

  /// Entries of an outline; from ``firstUnreadType`` on they are carried unread.
  enum EntryType: UInt8 {
    case version = 0
    case forget = 1
  }
  static let firstUnreadType: UInt8 = 128

  enum Tag: UInt8 {
    case insert = 1
    case update, remove, preserve, preserveRemoval
  }

  enum ValueForm: UInt8 {
    case inline = 0
    case item, leftOut, forgotten
  }
}
