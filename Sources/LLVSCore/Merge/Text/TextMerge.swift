/// Merges texts line by line over their base, in any encoding with a plain newline.
///
/// The merge takes a line that one side changed, added or removed from that side; of a line that both changed, the
/// newer side's or both. Lines that both added at one place all stay, the older side's first, unless one side's
/// contain the other's. A line includes its end; whether the last line has an end is merged separately.
package enum TextMerge {
  /// Longer texts are not merged.
  package static let maximumLength = 8 << 20

  /// True if bytes are a text: not too long, and without a zero byte.
  package static func isText(_ bytes: [UInt8]) -> Bool {
    bytes.count <= maximumLength && !bytes.contains(0)
  }

  package enum Clashes: Hashable, Sendable {
    case takeNewer
    /// Both stay, the older side's first, and nothing is dropped.
    case keepBoth
  }

  package enum Piece: Hashable {
    /// Lines that neither changed, that one side changed, that both changed alike, or that both added.
    case agreed([UInt8])
    /// Lines that both changed differently.
    case clash(base: [UInt8], older: [UInt8], newer: [UInt8])
  }

  /// Merges two texts; nil if one of them is no text. Without a base, the base is the lines that both have in
  /// common.
  ///
  /// Work and memory are bounded by steps, never by time, so every replica gets the same result: beyond the bound,
  /// everything that differs is one replacement.
  package static func merged(
    base: [UInt8]?, older: [UInt8], newer: [UInt8], clashes: Clashes = .takeNewer
  ) -> MergedContent? {
    guard let pieces = pieces(base: base, older: older, newer: newer) else { return nil }
    var merged = MergedContent(bytes: [], hasClash: false)
    merged.bytes.reserveCapacity(max(older.count, newer.count))
    let ending = Ending([base ?? [], older, newer])
    for piece in pieces {
      switch (piece, clashes) {
      case (.agreed(let bytes), _): merged.bytes += bytes
      case (.clash(_, _, let newer), .takeNewer):
        merged.bytes += newer
        merged.hasClash = true
      case (.clash(_, let older, let newer), .keepBoth): merged.bytes += older + newer
      }
    }
    if !ending.isMerged(base: base, older: older, newer: newer) {
      ending.remove(from: &merged.bytes)
    }
    return merged
  }

  /// Returns the parts of the merge in order, each line with an end; nil if something is no text. Adjacent clashes
  /// are one. If `clashing` is true, all differences of the sides are clashes.
  package static func pieces(
    base: [UInt8]?, older: [UInt8], newer: [UInt8], clashing: Bool = false
  ) -> [Piece]? {
    guard isText(base ?? []), isText(older), isText(newer) else { return nil }
    let ending = Ending([base ?? [], older, newer])
    var table = LineTable()
    let (a, b) = (table.lines(ending.added(to: older)), table.lines(ending.added(to: newer)))
    let o = base.map { table.lines(ending.added(to: $0)) } ?? common(a, b)
    let parts = SequenceMerge.parts(ofBase: o.count, changes(o, a), changes(o, b)) {
      a.ids[$0] == b.ids[$1]
    }
    var pieces = PieceList()
    for part in parts {
      let isAlike = part.kind == .same || part.kind == .alike
      switch clashing && !isAlike ? .clash : part.kind {
      case .same, .older, .alike: pieces.agree(a.bytes(part.older))
      case .newer: pieces.agree(b.bytes(part.newer))
      case .both:
        let (mine, theirs) = (a.ids[part.older], b.ids[part.newer])
        if SequenceMerge.holds(theirs, mine) {
          pieces.agree(b.bytes(part.newer))
        } else {
          pieces.agree(a.bytes(part.older))
          if !SequenceMerge.holds(mine, theirs) { pieces.agree(b.bytes(part.newer)) }
        }
      case .clash: pieces.clash(o.bytes(part.base), a.bytes(part.older), b.bytes(part.newer))
      }
    }
    return pieces.finished()
  }

  /// Collects pieces and joins adjacent pieces of the same kind.
  private struct PieceList {
    private var done: [Piece] = []
    private var agreed: [UInt8] = []
    private var base: [UInt8] = []
    private var older: [UInt8] = []
    private var newer: [UInt8] = []
    private var isClash = false

    mutating func agree(_ bytes: ArraySlice<UInt8>) {
      guard !bytes.isEmpty else { return }
      if isClash {
        done.append(.clash(base: base, older: older, newer: newer))
        (base, older, newer, isClash) = ([], [], [], false)
      }
      agreed += bytes
    }

    mutating func clash(
      _ base: ArraySlice<UInt8>, _ older: ArraySlice<UInt8>, _ newer: ArraySlice<UInt8>
    ) {
      if !agreed.isEmpty { done.append(.agreed(agreed)) }
      agreed = []
      self.base += base
      self.older += older
      self.newer += newer
      isClash = true
    }

    consuming func finished() -> [Piece] {
      if isClash { done.append(.clash(base: base, older: older, newer: newer)) }
      if !agreed.isEmpty { done.append(.agreed(agreed)) }
      return done
    }
  }

  private static func changes(_ old: TextLines, _ new: TextLines) -> [SequenceChange] {
    var refiner = ChangeRefiner(old: { old[$0] }, new: { new[$0] })
    return refiner.refined(
      TextDiff.changes(from: old.ids, to: new.ids, steps: SequenceDiff.maximumSteps))
  }

  /// The lines that both have, for a base.
  private static func common(_ a: TextLines, _ b: TextLines) -> TextLines {
    let changes = TextDiff.changes(from: a.ids, to: b.ids, steps: SequenceDiff.maximumSteps)
    var kept: [Range<Int>] = []
    var position = 0
    for change in changes {
      kept.append(position..<change.old.lowerBound)
      position = change.old.upperBound
    }
    kept.append(position..<a.count)
    return a.lines(kept)
  }

  /// The end of the last line, which a text may lack.
  struct Ending {
    private let bytes: [UInt8]

    init(_ texts: [[UInt8]]) {
      bytes = texts.contains(where: TextMerge.usesCRLF) ? [0x0D, 0x0A] : [0x0A]
    }

    private static func isThere(_ text: [UInt8]) -> Bool? { text.last.map { $0 == 0x0A } }
    func added(to text: [UInt8]) -> [UInt8] { Self.isThere(text) == false ? text + bytes : text }

    /// True if the last line of the merge has an end; the side that changed this decides.
    func isMerged(base: [UInt8]?, older: [UInt8], newer: [UInt8]) -> Bool {
      let (a, b) = (Self.isThere(older), Self.isThere(newer))
      guard let a, let b else { return a ?? b ?? true }
      guard a != b, let o = base.flatMap(Self.isThere) else { return a || b }
      return a == o ? b : a
    }

    func remove(from text: inout [UInt8]) {
      guard text.last == 0x0A else { return }
      text.removeLast(text.suffix(bytes.count).elementsEqual(bytes) ? bytes.count : 1)
    }
  }

  static func usesCRLF(_ text: [UInt8]) -> Bool {
    var rest = text[...]
    while let end = rest.firstIndex(of: 0x0D) {
      rest = rest[(end + 1)...]
      if rest.first == 0x0A { return true }
    }
    return false
  }
}
