import LLVSCore

/// The facts about a bundle that are kept beside its name.
///
/// As bytes: format u8 = 1 | version of the bundle u8 | counted place | needs, claims and `from` as in
/// a directory without frames.
struct BundleFacts: Hashable, Sendable {
  /// The version of the format, 1 or 2; 0 if it was not read yet.
  var format: UInt8
  /// The remote that this store put it to, as the user names it; empty for other writers' bundles.
  var place = ""
  var needs: [BundleNeed] = []
  var claims: [BundleClaim] = []
  var from = SequenceRuns()

  func encoded(_ name: BundleName) -> [UInt8] {
    var bytes: [UInt8] = [1, format]
    bytes.append(counted: Array(place.utf8))
    guard format == 2 else { return bytes }
    var directory = Bundle2Directory(writer: name.writer, sequence: name.sequence)
    (directory.needs, directory.stays, directory.from) = (needs, claims, from)
    return bytes + directory.encoded()
  }

  init(format: UInt8) { self.format = format }

  init(_ directory: Bundle2Directory) {
    format = 2
    (needs, claims, from) = (directory.needs, directory.stays, directory.from)
  }

  /// Reads noted facts; nil if they are not those of the bundle.
  init?(_ bytes: [UInt8], _ name: BundleName) {
    let facts = bytes.withUnsafeBytes { raw -> BundleFacts? in
      var reader = ByteReader(raw)
      guard reader.integer(UInt8.self) == 1, let format = reader.integer(UInt8.self), format <= 2,
        let place = reader.counted(atMost: 65_536)
      else { return nil }
      var facts = BundleFacts(format: format)
      if format == 2 {
        guard let rest = reader.take(reader.remaining),
          let directory = try? Bundle2Directory(rest, of: name, space: 0, isSealed: false)
        else { return nil }
        facts = BundleFacts(directory)
      }
      facts.place = String(decoding: place, as: UTF8.self)
      return reader.remaining == 0 ? facts : nil
    }
    guard let facts else { return nil }
    self = facts
  }
}

/// A bundle as this store has noted it.
struct NotedBundle: Sendable {
  /// The facts that this store found or made true.
  struct State: OptionSet, Hashable, Sendable {
    let rawValue: Int64
    /// Directory and table are known.
    static let read = State(rawValue: 1)
    /// Bytes were taken out of it and found right, or this store put it.
    static let proved = State(rawValue: 2)
    /// This store named it so, before the PUT.
    static let named = State(rawValue: 4)
    /// The PUT was answered.
    static let put = State(rawValue: 8)
    /// This store announced that it goes.
    static let announced = State(rawValue: 16)
    /// This store removed it.
    static let removed = State(rawValue: 32)
    /// It has entries that are no versions.
    static let hasOtherEntries = State(rawValue: 64)
    /// This store put it, and a list has shown it since.
    static let seen = State(rawValue: 128)
    /// It is encrypted.
    static let sealed = State(rawValue: 256)
  }

  let name: BundleName
  var state: State
  var put: Int64 = 0
  var announced: Int64 = 0
  var facts: BundleFacts

  init(_ name: BundleName, _ state: State, _ facts: BundleFacts) {
    self.name = name
    self.state = state
    self.facts = facts
  }

  init?(_ note: RemoteBundleNote) {
    guard let name = BundleName(note.name), let facts = BundleFacts(note.facts, name) else {
      return nil
    }
    self.name = name
    state = State(rawValue: note.state)
    (put, announced) = (note.put, note.announced)
    self.facts = facts
  }

  var note: RemoteBundleNote {
    RemoteBundleNote(
      name: name.text, state: state.rawValue, put: put, announced: announced,
      facts: facts.encoded(name))
  }
}

extension BundleItem {
  /// The item as the catalog names it.
  var key: [UInt8] { [kind.rawValue] + digest.bytes }

  /// Reads the catalog's name of an item; nil if it is none.
  init?(key: [UInt8]) {
    guard key.count == 33, let kind = Kind(rawValue: key[0]), let digest = Digest(bytes: key[1...])
    else { return nil }
    self.init(kind, digest)
  }
}
