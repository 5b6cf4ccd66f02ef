/// What a machine, or the folder of a peer, knows of all machines' work.
struct YearKnowledge {
  /// A file that every machine may write.
  struct Shared {
    /// The numbers of the writes that its bytes follow.
    var writes: Set<Int> = []
    /// What it may hold: more than one text once two machines wrote at the same time.
    var texts: Set<String> = []
  }

  /// The directory of each machine, which it alone changes, and the number of its state.
  var owned: [String: (turn: Int, tree: YearTree)] = [:]
  var shared: [String: Shared] = [:]
  /// The shared files that two machines changed at the same time.
  var contested: Set<String> = []

  /// Takes in what another knows, as a merge does.
  mutating func merge(_ other: YearKnowledge) {
    for (machine, state) in other.owned where (owned[machine]?.turn ?? -1) < state.turn {
      owned[machine] = state
    }
    contested.formUnion(other.contested)
    for (name, theirs) in other.shared {
      guard let mine = shared[name] else {
        shared[name] = theirs
        continue
      }
      if theirs.writes.isSubset(of: mine.writes) { continue }
      guard !mine.writes.isSubset(of: theirs.writes) else {
        shared[name] = theirs
        continue
      }
      shared[name] = Shared(
        writes: mine.writes.union(theirs.writes), texts: mine.texts.union(theirs.texts))
      contested.insert(name)
    }
  }
}
