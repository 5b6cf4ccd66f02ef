import LLVSCore

/// The facts about a bundle that are kept next to its name.
/// As bytes: format u8 = 1 | format of the bundle u8 = 2 or 3 | counted place | a directory without frames.
struct BundleFacts: Hashable, Sendable {
  /// The remote that this store put it to, as the user names it; empty for other writers' bundles.
  var place = ""
  var needs: [BundleNeed] = []
  var claims: [BundleClaim] = []
  var from = SequenceRuns()
  var filled: [BundleNeed] = []

  func encoded(_ name: BundleName) -> [UInt8] {
    var bytes: [UInt8] = [1, BundleFormat.number]
    bytes.append(counted: Array(place.utf8))
    var directory = BundleDirectory(writer: name.writer, sequence: name.sequence)
    (directory.needs, directory.stays, directory.from) = (needs, claims, from)
    directory.filled = filled
    return bytes + directory.encoded()
  }

  init(_ directory: BundleDirectory) {
    (needs, claims, from) = (directory.needs, directory.stays, directory.from)
    filled = directory.filled
  }

  /// Reads noted facts; nil if they are not those of the bundle.
  init?(_ bytes: [UInt8], _ name: BundleName) {
    let facts = bytes.withUnsafeBytes { raw -> BundleFacts? in
      var reader = ByteReader(raw)
      guard reader.integer(UInt8.self) == 1, let format = reader.integer(UInt8.self),
        BundleFormat.known.contains(format),
        let place = reader.counted(atMost: 65_536), let rest = reader.take(reader.remaining),
        let directory = try? BundleDirectory(
          rest, of: name, space: 0, isSealed: false, format: format)
      else { return nil }
      var facts = BundleFacts(directory)
      facts.place = String(decoding: place, as: UTF8.self)
      return facts
    }
    guard let facts else { return nil }
    self = facts
  }
}

struct NotedBundle: Sendable {
  /// What this store found or made true.
  struct State: OptionSet, Hashable, Sendable {
    let rawValue: Int64
    /// Directory and table are known.
    static let read = State(rawValue: 1)
    /// Bytes were taken out of it and found right, or this store put it.
    static let proved = State(rawValue: 2)
    /// This store named it so, before the PUT.
    static let named = State(rawValue: 4)
    static let put = State(rawValue: 8)
    /// This store announced that it goes.
    static let announced = State(rawValue: 16)
    static let removed = State(rawValue: 32)
    /// It has entries that are no versions.
    static let hasOtherEntries = State(rawValue: 64)
    /// This store put it, and a list has shown it since.
    static let seen = State(rawValue: 128)
    static let sealed = State(rawValue: 256)
    /// Bytes of it were found wrong where it is.
    static let damaged = State(rawValue: 512)
    /// The time of its PUT is by the server's clock.
    static let timed = State(rawValue: 1024)
    /// It was read whole after another store could not read it.
    static let readAgain = State(rawValue: 2048)
    /// It has values whose bytes its writer has forgotten.
    static let lacksBytes = State(rawValue: 4096)
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

extension HeldItem {
  var row: RemoteBundleItem { RemoteBundleItem(key: item.key, isPatch: isPatch) }

  init?(_ row: RemoteBundleItem) {
    guard let item = BundleItem(key: row.key) else { return nil }
    self.init(item: item, isPatch: row.isPatch)
  }
}

extension BundleItem {
  init(_ part: ValuePart) {
    switch part.kind {
    case .chunk: self.init(.chunk, part.digest)
    case .node: self.init(.node, part.digest)
    case .top: self.init(.top, part.digest)
    }
  }

  var key: [UInt8] { [kind.rawValue] + digest.bytes }

  init?(key: [UInt8]) {
    guard key.count == 33, let kind = Kind(rawValue: key[0]), let digest = Digest(bytes: key[1...])
    else { return nil }
    self.init(kind, digest)
  }
}
