import LLVSCore

/// The format of bundles: many versions in one compressed file that is written once. The bytes of
/// values are in it once, apart from the versions that refer to them; docs/formats.md, "Bundles",
/// describes every byte.
///
///     bundle    head | content frames | outline frames | table frames | directory | tail
///
/// Content frames hold *items*: chunks of values, and nodes of long values. The table says which
/// item is where. The outline holds the versions with their changes, which refer to items by their
/// number, or by digest where an item is left out because another bundle holds it.
enum BundleFormat {
  /// The folder at a remote that holds the bundles.
  static let folder = "bundles"

  static let magic = Array("LLVSBDL".utf8)
  static let number: UInt8 = 2
  /// The flag in the head of a bundle whose frames are encrypted.
  static let sealedFlag: UInt32 = 1

  /// Returns the 12 bytes that a bundle begins with.
  static func head(isSealed: Bool) -> [UInt8] {
    var head = magic + [number]
    head.append(bigEndian: isSealed ? sealedFlag : 0)
    return head
  }

  static let headLength: UInt64 = 12
  static let tailMagic = Array("LLVSBDP2".utf8)
  static let sealedTailMagic = Array("LLVSBDS2".utf8)
  static let tailLength = 48
  static let sealedTailLength = 88
  /// The number of bytes that encryption adds to a frame.
  static let sealLength = 16

  /// The kinds of frames; encryption binds a frame to its kind.
  enum FrameKind: UInt64, Sendable {
    case content = 0
    case outline, table, directory
  }

  /// The greatest length of a frame, unpacked, in bytes; items are at most as long.
  static let frameLength = 1 << 20
  /// Items of this length get a frame of their own; shorter ones share frames of up to
  /// ``sharedFrameLength``.
  static let aloneLength = 32_768
  static let sharedFrameLength = 262_144
  /// The greatest length of a directory, unpacked.
  static let maximumDirectory = 16 << 20
  static let maximumEntries = 65_536
  static let maximumItems = 1 << 20
  static let maximumContentFrames = 1 << 17
  static let maximumOtherFrames = 1 << 16
  /// The greatest number of bundles that a bundle may need, and of writers that it may speak for.
  static let maximumNeeds = 1024
  static let maximumClaims = 1024
  static let maximumRuns = 65_536

  /// Bundles up to this length are read at once; of longer ones the last ``suffixLength`` bytes
  /// first.
  static let wholeLength: UInt64 = 262_144
  static let suffixLength: UInt64 = 65_536

  /// The flag of a version whose content digest follows its description.
  static let digestFlag: UInt8 = 1

  /// The types of entries of an outline; from ``firstUnreadType`` on they are carried unread.
  enum EntryType: UInt8 {
    case version = 0
    case forget = 1
  }

  static let firstUnreadType: UInt8 = 128

  /// The kinds of changes.
  enum Tag: UInt8 {
    case insert = 1
    case update, remove, preserve, preserveRemoval
  }

  /// The forms of a value in a change.
  enum ValueForm: UInt8 {
    case inline = 0
    case item, leftOut, forgotten
  }
}

/// Encrypts and decrypts the frames of one bundle.
protocol FrameSeal: Sendable {
  /// The 8 bytes that tell which key it is.
  var keyID: [UInt8] { get }
  /// The 32 bytes that are the bundle's own.
  var salt: [UInt8] { get }

  /// Returns the encrypted frame, ``BundleFormat/sealLength`` bytes longer.
  func sealed(_ bytes: [UInt8], _ kind: BundleFormat.FrameKind, _ number: Int) -> [UInt8]

  /// Returns the frame; nil if it is not what this key sealed for this place.
  func opened(_ bytes: [UInt8], _ kind: BundleFormat.FrameKind, _ number: Int) -> [UInt8]?
}

/// The keys of a remote whose bundles are encrypted.
protocol BundleKeys: Sendable {
  /// Returns the seal for a bundle; nil if the key is not known.
  func seal(keyID: [UInt8], salt: [UInt8], writer: String, sequence: UInt64) -> (any FrameSeal)?

  /// Returns a seal for a new bundle.
  ///
  /// - Throws: ``StoreError/denied(_:)`` if no key is held.
  func newSeal(writer: String, sequence: UInt64) throws(StoreError) -> any FrameSeal
}
