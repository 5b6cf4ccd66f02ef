import LLVSCore

// What a node has in common with most others, in few bytes. Fields stand in an order that leaves no gaps.

/// A time; no time has 2^32 - 1 nanoseconds.
struct PackedTime {
  fileprivate static let none = UInt32.max

  // In halves: twelve bytes then stand wherever four do.
  private let secondsLow: UInt32
  private let secondsHigh: Int32
  private let nanoseconds: UInt32

  init(_ time: Attributes.Time?) {
    let seconds = time?.seconds ?? 0
    secondsLow = UInt32(truncatingIfNeeded: seconds)
    secondsHigh = Int32(truncatingIfNeeded: seconds >> 32)
    nanoseconds = time?.nanoseconds ?? Self.none
  }

  var isAbsent: Bool { nanoseconds == Self.none }

  /// The time; 1970 where there is none.
  var time: Attributes.Time {
    Attributes.Time(
      seconds: Int64(secondsHigh) << 32 | Int64(secondsLow),
      nanoseconds: isAbsent ? 0 : nanoseconds)
  }

  var optional: Attributes.Time? { isAbsent ? nil : time }
}

/// Attributes of the common kind: a mode, an owner, a time, each of which may be absent, and no more.
struct PackedAttributes {
  private static let noMode = UInt16.max
  // chown(2) takes it for "leave as it is": no file is owned by it.
  private static let nobody = UInt32.max

  private var uid = nobody
  private var gid = nobody
  private var mtime = PackedTime(nil)
  private var mode = noMode

  init() {}

  /// Packs attributes; nil where there is more to them.
  init?(_ attributes: Attributes) {
    guard attributes.device == nil, attributes.linkID == nil, attributes.extended.isEmpty,
      attributes.mode ?? 0 < UInt32(Self.noMode), attributes.uid != Self.nobody,
      attributes.gid != Self.nobody, attributes.mtime?.nanoseconds != PackedTime.none
    else { return nil }
    uid = attributes.uid ?? Self.nobody
    gid = attributes.gid ?? Self.nobody
    mtime = PackedTime(attributes.mtime)
    mode = attributes.mode.map { UInt16($0) } ?? Self.noMode
  }

  var hasTime: Bool { !mtime.isAbsent }

  var attributes: Attributes {
    Attributes(
      mode: mode == Self.noMode ? nil : UInt32(mode), mtime: mtime.optional,
      uid: uid == Self.nobody ? nil : uid, gid: gid == Self.nobody ? nil : gid)
  }

  func isEqual(_ other: Attributes) -> Bool { attributes == other }
}

/// What an entry has besides what its node knows; numbers below 2^40.
struct PackedEntry {
  /// Where the bytes are.
  private enum Bytes {
    case none
    case inline([UInt8])
    case chunk(Place)
    case tree(Place)
  }

  /// A location in thirteen bytes.
  private struct Place {
    let segment: UInt32
    let length: UInt32
    let offsetLow: UInt32
    let offsetHigh: UInt8

    init(_ location: Location) {
      segment = location.segment
      length = location.length
      (offsetLow, offsetHigh) = halves(location.offset)
    }

    var location: Location {
      Location(segment: segment, offset: whole(offsetLow, offsetHigh), length: length)
    }
  }

  private let digest: Digest
  private let bytes: Bytes
  private let lengthHigh: UInt8
  private let revisionHigh: UInt8
  private let lengthLow: UInt32
  private let revisionLow: UInt32
  let storedVersion: VersionNumber

  /// Nothing.
  init() {
    digest = Digest(words: (0, 0, 0, 0))
    bytes = .none
    (lengthLow, lengthHigh) = (0, 0)
    (revisionLow, revisionHigh) = (0, 0)
    storedVersion = VersionNumber(0)
  }

  /// Packs one that ``holds(_:)`` is true of.
  init(_ entry: Entry) {
    digest = entry.stored.digest
    bytes =
      switch entry.stored.content {
      case .none: .none
      case .inline(let bytes): .inline(bytes)
      case .chunk(let location): .chunk(Place(location))
      case .tree(let location): .tree(Place(location))
      }
    (lengthLow, lengthHigh) = halves(entry.stored.length)
    (revisionLow, revisionHigh) = halves(entry.revision)
    storedVersion = entry.storedVersion
  }

  /// Whether an entry's numbers are small enough: those of all but odd ones are.
  static func holds(_ entry: Entry) -> Bool {
    let offset =
      switch entry.stored.content {
      case .none, .inline: UInt64(0)
      case .chunk(let location), .tree(let location): location.offset
      }
    return (entry.stored.length | entry.revision | offset) >> 40 == 0
  }

  var length: UInt64 { whole(lengthLow, lengthHigh) }
  var revision: UInt64 { whole(revisionLow, revisionHigh) }

  var stored: StoredContent {
    let content: Content =
      switch bytes {
      case .none: .none
      case .inline(let bytes): .inline(bytes)
      case .chunk(let place): .chunk(place.location)
      case .tree(let place): .tree(place.location)
      }
    return StoredContent(length: length, digest: digest, content: content)
  }
}

/// A number below 2^40 in five bytes, which stand wherever four and one do.
private func halves(_ number: UInt64) -> (UInt32, UInt8) {
  (UInt32(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 32))
}

private func whole(_ low: UInt32, _ high: UInt8) -> UInt64 { UInt64(high) << 32 | UInt64(low) }

/// What is so or not so of a node, and how it keeps its base's entry.
struct PackedFlags {
  /// How the base's entry is kept.
  enum EntryForm: UInt8 {
    /// The base has none.
    case none
    /// In the node's packed entry.
    case packed
    /// Beside the node.
    case whole
  }

  enum Flag: UInt8 {
    case touched = 0x04
    case journaled = 0x08
    case attributesChanged = 0x10
    case explicitTime = 0x20
    case renewsInode = 0x40
    case moved = 0x80
  }

  private var bits: UInt8 = 0

  subscript(flag: Flag) -> Bool {
    get { bits & flag.rawValue != 0 }
    set { bits = newValue ? bits | flag.rawValue : bits & ~flag.rawValue }
  }

  var form: EntryForm {
    get { EntryForm(rawValue: bits & 0x03) ?? .none }
    set { bits = bits & ~0x03 | newValue.rawValue }
  }
}
