import LLVS

// What a node has in common with most others, in few bytes. Fields stand in an order that leaves no gaps.

/// A time; no time has 2^32 - 1 nanoseconds.
struct PackedTime {
  fileprivate static let none = UInt32.max

  private let seconds: Int64
  private let nanoseconds: UInt32

  init(_ time: Attributes.Time?) {
    seconds = time?.seconds ?? 0
    nanoseconds = time?.nanoseconds ?? Self.none
  }

  var isAbsent: Bool { nanoseconds == Self.none }

  /// The time; 1970 where there is none.
  var time: Attributes.Time {
    Attributes.Time(seconds: seconds, nanoseconds: isAbsent ? 0 : nanoseconds)
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

/// What an entry has besides what its node knows.
struct PackedEntry {
  private let digest: Digest
  let length: UInt64
  let revision: UInt64
  private let content: Content
  let storedVersion: VersionNumber

  /// Nothing.
  init() {
    digest = Digest(words: (0, 0, 0, 0))
    length = 0
    revision = 0
    content = .none
    storedVersion = VersionNumber(0)
  }

  init(_ entry: Entry) {
    digest = entry.stored.digest
    length = entry.stored.length
    revision = entry.revision
    content = entry.stored.content
    storedVersion = entry.storedVersion
  }

  var stored: StoredContent {
    StoredContent(length: length, digest: digest, content: content)
  }
}
