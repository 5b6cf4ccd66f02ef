/// Which of many heads others contain (docs/merging.md, M5): asked of all of them at once, in
/// walks down what they were made from, where each pair would walk for itself.
///
/// A version that one head alone is a descendant of, met over automatic merges only, shows that nothing
/// contains that head: the first walk finds one of nearly every head, and ends where all have one. What is left
/// is asked about in groups of heads, a bit for each.
///
/// Void heads (without an authored version that counts) hold others, but are not asked about here.
struct HeadContainment {
  /// A version on the ways from the heads back.
  private struct Step {
    /// The head that it is, or that alone descends from it; ``shared`` where several do.
    var owner: Int32
    /// Whether a head is met on the way up over automatic merges only.
    var isNear: Bool
    var isAutomatic = false
    /// Where the predecessors are; negative for none, or where the walk ended before them.
    var first: Int32 = -1
    var second: Int32 = -1
  }

  private static let shared: Int32 = -1

  private let heads: [HistoryNode]
  private var steps: [Step] = []
  private var places: [VersionNumber: Int32] = [:]
  /// The steps that were gone, each after all that lead to it.
  private var order: [Int32] = []
  /// The heads, as indices, that others may contain: all but void ones and those shown to be held by nothing.
  private(set) var suspects: [Int] = []

  /// Goes back from heads, each given once.
  ///
  /// - Complexity: O(*n* log *n*) in the versions walked: those younger here than the oldest of the heads, and
  ///   where a head may be contained those younger than the authored versions that it holds.
  init(of heads: [HistoryNode], in graph: VersionGraph) throws(StoreError) {
    self.heads = heads
    var open = PriorityQueue<VersionNumber>(by: <)
    var nearOpen = 0
    for (index, head) in heads.enumerated() {
      places[head.number] = Int32(index)
      steps.append(Step(owner: Int32(index), isNear: true))
      open.push(head.number)
      nearOpen += 1
    }
    var isSuspect = heads.map { !$0.isVoid }
    var left = isSuspect.count { $0 }
    // Numbers fall on every way back: a version is taken after all that descend from it.
    while left > 0, nearOpen > 0, let number = open.pop() {
      guard let place = places[number] else { continue }
      let node = try graph.node(number)
      var step = steps[Int(place)]
      step.isAutomatic = node.isAutomatic
      if step.isNear {
        nearOpen -= 1
        let owner = Int(step.owner)
        if !step.isAutomatic, owner >= 0, isSuspect[owner] {
          isSuspect[owner] = false
          left -= 1
        }
      }
      func reach(_ predecessor: VersionNumber) -> Int32 {
        let isNear = step.isNear && step.isAutomatic
        guard let known = places[predecessor] else {
          let new = Int32(steps.count)
          places[predecessor] = new
          steps.append(Step(owner: step.owner, isNear: isNear))
          open.push(predecessor)
          if isNear { nearOpen += 1 }
          return new
        }
        if steps[Int(known)].owner != step.owner { steps[Int(known)].owner = Self.shared }
        if isNear, !steps[Int(known)].isNear {
          steps[Int(known)].isNear = true
          nearOpen += 1
        }
        return known
      }
      if let first = node.first { step.first = reach(first) }
      if let second = node.second { step.second = reach(second) }
      steps[Int(place)] = step
      order.append(place)
    }
    suspects = isSuspect.indices.filter { isSuspect[$0] }
  }

  // MARK: What contains the suspects

  /// The suspects that give way to others that contain them: to one of smaller id, or to one that they do not
  /// contain.
  ///
  /// - Complexity: O((suspects / 64) (heads / 64) versions walked); memory for a bit of each in 64 heads.
  func contained() -> Set<Int> {
    guard !suspects.isEmpty else { return [] }
    // By id: whoever has a container of smaller id finds one first.
    let columns = heads.indices.sorted { heads[$0].id < heads[$1].id }
    // Being contained is transitive among heads that are not void, so what contains a container is fewer,
    // and as many only where each of the two contains the other.
    var counts = [Int](repeating: 1, count: heads.count)
    for suspect in suspects { counts[suspect] = 0 }
    let (groups, rows) = (Self.groups(of: columns), Self.groups(of: suspects))
    for row in rows {
      let held = held(by: row)
      for group in groups {
        let found = containers(of: row, holding: held, among: group)
        let asked = group.enumerated().reduce(UInt64(0)) {
          heads[$1.element].isVoid ? $0 : $0 | 1 << $1.offset
        }
        for (suspect, mask) in zip(row, found) { counts[suspect] += (mask & asked).nonzeroBitCount }
      }
    }
    var contained: Set<Int> = []
    for row in rows {
      let held = held(by: row)
      for group in groups {
        let found = containers(of: row, holding: held, among: group)
        for (suspect, mask) in zip(row, found) where !contained.contains(suspect) {
          let givesWay = group.enumerated().contains { bit, column in
            guard mask & (1 << bit) != 0, column != suspect else { return false }
            // A void one is contained in every other.
            return heads[column].id < heads[suspect].id
              || !heads[column].isVoid && counts[column] < counts[suspect]
          }
          if givesWay { contained.insert(suspect) }
        }
      }
    }
    return contained
  }

  private static func groups(of indices: [Int]) -> [ArraySlice<Int>] {
    stride(from: 0, to: indices.count, by: UInt64.bitWidth).map {
      indices[$0..<min($0 + UInt64.bitWidth, indices.count)]
    }
  }

  /// The authored versions that some heads hold, back over automatic merges only, each with the bits of the
  /// heads that hold it.
  private func held(by group: ArraySlice<Int>) -> [(place: Int, holders: UInt64)] {
    var bits = [UInt64](repeating: 0, count: steps.count)
    for (bit, head) in group.enumerated() { bits[head] |= 1 << bit }
    var held: [(place: Int, holders: UInt64)] = []
    for place in order where bits[Int(place)] != 0 {
      let (step, mask) = (steps[Int(place)], bits[Int(place)])
      guard step.isAutomatic else {
        held.append((Int(place), mask))
        continue
      }
      if step.first >= 0 { bits[Int(step.first)] |= mask }
      if step.second >= 0 { bits[Int(step.second)] |= mask }
    }
    return held
  }

  /// Of each suspect of a group, which heads of another all that it holds leads to.
  private func containers(
    of row: ArraySlice<Int>, holding held: [(place: Int, holders: UInt64)],
    among group: ArraySlice<Int>
  ) -> [UInt64] {
    var bits = [UInt64](repeating: 0, count: steps.count)
    for (bit, head) in group.enumerated() { bits[head] |= 1 << bit }
    for place in order {
      let (step, mask) = (steps[Int(place)], bits[Int(place)])
      if step.first >= 0 { bits[Int(step.first)] |= mask }
      if step.second >= 0 { bits[Int(step.second)] |= mask }
    }
    let all = group.count == UInt64.bitWidth ? .max : (UInt64(1) << group.count) - 1
    var found = [UInt64](repeating: all, count: row.count)
    for (place, holders) in held {
      var left = holders
      while left != 0 {
        found[left.trailingZeroBitCount] &= bits[place]
        left &= left - 1
      }
    }
    return found
  }
}
