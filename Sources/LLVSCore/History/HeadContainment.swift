/// Finds which of many heads are contained in others (docs/merging.md, M5), in a few walks back from all of them.
///
/// A head is not contained if it reaches, over automatic merges only, an authored version that no other head has.
/// The first walk finds one for nearly every head. Containers of the others are searched in groups of 64, with a
/// bit for each. Void heads (whose history holds only empty maps) are not tested here.
struct HeadContainment {
  private struct Step {
    /// The only head that is this version or descends from it; ``shared`` if there are several.
    var owner: Int32
    /// True if a head reaches it over automatic merges only.
    var isNear: Bool
    var isAutomatic = false
    /// The indices of the predecessors' steps; negative for none, or if the walk ended before them.
    var first: Int32 = -1
    var second: Int32 = -1
  }

  private static let shared: Int32 = -1
  private let heads: [HistoryNode]
  private var steps: [Step] = []
  private var places: [VersionNumber: Int32] = [:]
  /// The indices of the visited steps; each comes after all steps that lead to it.
  private var order: [Int32] = []
  /// The indices of heads that others may contain: not void, and the walk has not ruled it out.
  private(set) var suspects: [Int] = []

  /// Walks back from heads, each given once.
  /// - Complexity: O(*n* log *n*) in the visited versions: those younger in this store than the oldest head and,
  ///   where a head may be contained, those younger than its latest authored versions.
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
    // Predecessors have smaller numbers: a version is visited after all its descendants.
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

  /// Returns the suspects that another head contains: one with a smaller id, or one that they do not contain.
  /// - Complexity: O((suspects / 64) (heads / 64) versions walked); memory for 64 bits for each version.
  func contained() -> Set<Int> {
    guard !suspects.isEmpty else { return [] }
    // In the order of ids, a suspect meets its containers of smaller id first.
    let columns = heads.indices.sorted { heads[$0].id < heads[$1].id }
    // Being contained is transitive among heads that are not void: a container has fewer containers than the head
    // that it contains, or as many if each contains the other.
    var counts = [Int](repeating: 1, count: heads.count)
    for suspect in suspects { counts[suspect] = 0 }
    let (groups, rows) = (Self.groups(of: columns), Self.groups(of: suspects))
    for row in rows {
      let reached = reached(by: row)
      for group in groups {
        let found = containers(of: row, reaching: reached, among: group)
        let asked = group.enumerated().reduce(UInt64(0)) {
          heads[$1.element].isVoid ? $0 : $0 | 1 << $1.offset
        }
        for (suspect, mask) in zip(row, found) { counts[suspect] += (mask & asked).nonzeroBitCount }
      }
    }
    var contained: Set<Int> = []
    for row in rows {
      let reached = reached(by: row)
      for group in groups {
        let found = containers(of: row, reaching: reached, among: group)
        for (suspect, mask) in zip(row, found) where !contained.contains(suspect) {
          let givesWay = group.enumerated().contains { bit, column in
            guard mask & (1 << bit) != 0, column != suspect else { return false }
            // Every other head contains a void one.
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

  /// The authored versions that a group's heads reach over automatic merges only, with those heads.
  private func reached(by group: ArraySlice<Int>) -> [(place: Int, holders: UInt64)] {
    var bits = [UInt64](repeating: 0, count: steps.count)
    for (bit, head) in group.enumerated() { bits[head] |= 1 << bit }
    var reached: [(place: Int, holders: UInt64)] = []
    for place in order where bits[Int(place)] != 0 {
      let (step, mask) = (steps[Int(place)], bits[Int(place)])
      guard step.isAutomatic else {
        reached.append((Int(place), mask))
        continue
      }
      if step.first >= 0 { bits[Int(step.first)] |= mask }
      if step.second >= 0 { bits[Int(step.second)] |= mask }
    }
    return reached
  }

  /// Returns for each suspect of a group a bit for each head of another group that is, or descends from, every
  /// authored version that the suspect reaches over automatic merges only.
  private func containers(
    of row: ArraySlice<Int>, reaching reached: [(place: Int, holders: UInt64)],
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
    for (place, holders) in reached {
      var left = holders
      while left != 0 {
        found[left.trailingZeroBitCount] &= bits[place]
        left &= left - 1
      }
    }
    return found
  }
}
