package import LLVSCore
import TreeNames

/// Chooses among the arbiters of the settings: the last rule whose pattern matches the path decides.
package struct ChosenArbiter: ClashArbiter {
  private let rules: [(pattern: IgnorePatterns?, arbiter: any ClashArbiter)]
  /// Makes an arbiter for a merge in a history.
  package typealias Maker = @Sendable (VersionGraph) -> any ClashArbiter

  package static func plain(
    _ choice: ArbiterChoice, _ store: Store, _ trials: ArbiterTrials, lacked: LackedBytes? = nil,
    isCancelled: @escaping @Sendable () -> Bool
  ) -> Maker {
    switch choice {
    // `keep-both` stores the newest value in the tree and records the other as a conflict.
    case .mostRecentChange, .keepBoth: { MostRecentChangeClashArbiter(graph: $0) }
    case .mostRecentBranch: { _ in MostRecentBranchClashArbiter() }
    case .text: { ContentArbiter(.text, $0, store.contents, lacked: lacked) }
    case .json: { ContentArbiter(.json, $0, store.contents, lacked: lacked) }
    case .union: { ContentArbiter(.union, $0, store.contents, lacked: lacked) }
    // The working tree's version is the first side of a merge by command.
    case .ours: { _ in OneSideClashArbiter(.first) }
    case .theirs: { _ in OneSideClashArbiter(.second) }
    case .exec(let command):
      {
        CommandArbiter(
          command, $0, store, trials: trials, lacked: lacked, isCancelled: isCancelled)
      }
    }
  }

  /// Without a matching rule, text and JSON are merged, and other values are those stored last.
  package static func maker(
    _ rules: [ArbiterRule], _ store: Store, _ trials: ArbiterTrials = ArbiterTrials(),
    lacked: LackedBytes? = nil,
    isCancelled: @escaping @Sendable () -> Bool = { false }
  ) -> Maker {
    let known = rules.map { rule in
      (
        rule.pattern.map { IgnorePatterns(Array($0.utf8)) },
        plain(rule.arbiter, store, trials, lacked: lacked, isCancelled: isCancelled)
      )
    }
    return { graph in
      let standard = ContentArbiter(.automatic, graph, store.contents, lacked: lacked)
      guard !known.isEmpty else { return standard }
      return ChosenArbiter(
        rules: [(nil, standard)] + known.map { (pattern: $0.0, arbiter: $0.1(graph)) })
    }
  }

  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    try arbiter(of: clash.key)?.decide(clash) ?? .take(.first)
  }

  package func settling(
    _ key: Key, base: Entry?, kept: Entry, with other: Entry
  ) throws(StoreError) -> [UInt8]? {
    try arbiter(of: key)?.settling(key, base: base, kept: kept, with: other)
  }

  private func arbiter(of key: Key) -> (any ClashArbiter)? {
    let path = KeyCoding.path(of: key) ?? key.bytes
    return rules.last { $0.pattern?.ignores(path: path) ?? true }?.arbiter
  }
}
