/// The three-way merge of two sequences over their base, place by place.
///
/// A function of the three sequences and of their order in age, so every replica gets the same result.
enum SequenceMerge {
  /// A place of the merge: its range in the base and on both sides.
  struct Part: Hashable {
    enum Kind: Hashable {
      /// Neither changed it.
      case same
      /// One side changed it.
      case older
      case newer
      /// Both changed it alike.
      case alike
      /// Both added something where the base has nothing.
      case both
      /// Both changed it differently.
      case clash
    }

    var kind: Kind
    var base: Range<Int>
    var older: Range<Int>
    var newer: Range<Int>
  }

  /// The changes of one side, followed from the front.
  private struct Side {
    private let changes: [SequenceChange]
    private var next = 0
    /// The position in the side's own sequence.
    private(set) var position = 0

    init(_ changes: [SequenceChange]) { self.changes = changes }
    var change: SequenceChange? { next < changes.count ? changes[next] : nil }

    /// Passes `count` items that the side did not change; returns their range.
    mutating func pass(_ count: Int) -> Range<Int> {
      defer { position += count }
      return position..<(position + count)
    }

    /// Takes what the side added before a place of the base; empty if it added nothing.
    mutating func takeAddition(at place: Int) -> Range<Int> {
      guard let change, change.old.isEmpty, change.old.lowerBound == place else {
        return position..<position
      }
      next += 1
      return pass(change.new.count)
    }

    /// The end of the run of the base that is covered by changes overlapping those up to `end`.
    func reach(from end: Int) -> Int {
      var (end, index) = (end, next)
      while index < changes.count, changes[index].old.lowerBound < end {
        end = max(end, changes[index].old.upperBound)
        index += 1
      }
      return end
    }

    /// Takes the side's elements for a run of the base; none of its changes crosses the run's end.
    mutating func take(_ run: Range<Int>) -> Taken {
      let from = position
      var taken = Taken(range: from..<from)
      var reached = run.lowerBound
      while let change, change.old.lowerBound < run.upperBound {
        _ = pass(change.old.lowerBound - reached)
        let own = pass(change.new.count)
        if change.old.isEmpty { taken.additions.append(own) } else { taken.isChanged = true }
        reached = change.old.upperBound
        next += 1
      }
      _ = pass(run.upperBound - reached)
      taken.range = from..<position
      return taken
    }
  }

  /// The elements that a side has in place of a run of the base.
  private struct Taken {
    var range: Range<Int>
    /// True if it replaced or removed something of the run.
    var isChanged = false
    /// The elements that it added within the run.
    var additions: [Range<Int>] = []
  }

  /// Finds the places of the merge, in order.
  ///
  /// If one side replaced a run as a whole, elements that the other added within it come after it. Changes ascend
  /// and may touch; `isSame` compares a range of the older side with one of the newer.
  static func parts(
    ofBase count: Int, _ toOlder: [SequenceChange], _ toNewer: [SequenceChange],
    isSame: (Range<Int>, Range<Int>) -> Bool
  ) -> [Part] {
    var (older, newer) = (Side(toOlder), Side(toNewer))
    var parts: [Part] = []
    var position = 0
    while true {
      let additions = (older.takeAddition(at: position), newer.takeAddition(at: position))
      if !additions.0.isEmpty || !additions.1.isEmpty {
        parts.append(
          Part(
            kind: additions.1.isEmpty
              ? .older
              : additions.0.isEmpty
                ? .newer : isSame(additions.0, additions.1) ? .alike : .both,
            base: position..<position, older: additions.0, newer: additions.1))
      }
      let start = min(older.change?.old.lowerBound ?? count, newer.change?.old.lowerBound ?? count)
      if start > position {
        let length = start - position
        parts.append(
          Part(
            kind: .same, base: position..<start, older: older.pass(length),
            newer: newer.pass(length)))
        position = start
        continue
      }
      guard position < count else { return parts }
      position = change(at: position, &older, &newer, isSame, into: &parts)
    }
  }

  /// Adds the place at which overlapping changes of both sides begin; returns its end.
  private static func change(
    at start: Int, _ older: inout Side, _ newer: inout Side,
    _ isSame: (Range<Int>, Range<Int>) -> Bool, into parts: inout [Part]
  ) -> Int {
    var end = start + 1
    while true {
      let further = newer.reach(from: older.reach(from: end))
      if further == end { break }
      end = further
    }
    let (mine, theirs) = (older.take(start..<end), newer.take(start..<end))
    func add(_ kind: Part.Kind, _ base: Range<Int>, _ a: Range<Int>, _ b: Range<Int>) {
      parts.append(Part(kind: kind, base: base, older: a, newer: b))
    }
    let (a, b) = (mine.range, theirs.range)
    switch (mine.isChanged, theirs.isChanged) {
    case (true, true): add(isSame(a, b) ? .alike : .clash, start..<end, a, b)
    case (true, false):
      add(.older, start..<end, a, b)
      for own in theirs.additions { add(.newer, end..<end, a.upperBound..<a.upperBound, own) }
    case (false, _):
      add(.newer, start..<end, a, b)
      for own in mine.additions { add(.older, end..<end, own, b.upperBound..<b.upperBound) }
    }
    return end
  }

  /// True if one run contains another as successive elements.
  /// - Complexity: O(items of both) (Knuth, Morris and Pratt).
  static func holds(_ run: ArraySlice<Int32>, _ other: ArraySlice<Int32>) -> Bool {
    guard other.count <= run.count else { return false }
    let wanted = Array(other)
    var borders = [0]
    var length = 0
    for item in wanted.dropFirst() {
      while length > 0, wanted[length] != item { length = borders[length - 1] }
      if wanted[length] == item { length += 1 }
      borders.append(length)
    }
    length = 0
    for item in run {
      while length > 0, wanted[length] != item { length = borders[length - 1] }
      if wanted[length] == item { length += 1 }
      if length == wanted.count { return true }
    }
    return wanted.isEmpty
  }
}
