/// What can be asked of a store by a line of its control file.
package enum ControlCommand: Hashable, Sendable {
  case commit(message: String?)
  /// Without peers, all of them.
  case retrieve(peers: [String])
  case send(peers: [String])
  case exchange(peers: [String])
  case merge(Merge)
  case sync(peers: [String])
  /// Without paths, all of them.
  case restore(version: String, paths: [[UInt8]])
  case undo
  case redo
  case branch(String)
  /// The target is a version, a branch, or `-` for the unnamed line.
  case switchTo(String, line: String?)
  /// `moves` takes the name from the version that has it.
  case tag(String, version: String?, moves: Bool = false)
  /// Lists the tags.
  case tags
  case settle(path: [UInt8], Settlement)
  /// Lists open conflicts, at a path and below it or all.
  case conflicts(path: [UInt8]?)
  case set([StoreSettings.Assignment])
  /// Lists settings, all where none is named.
  case settings([StoreSettings.Name])
  case compact(Compact)
  case purge(path: [UInt8])
  case verify(peer: String?)
  case status
  /// Lists what is in no version yet.
  case pending
  /// The last lines of the log.
  case log(count: Int?)
  case help

  package struct Merge: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
      /// All heads of the live tree's line.
      case heads
      /// All heads, of other lines too.
      case all
      /// A version or a branch.
      case named(String)
    }

    package var target: Target
    /// Nil for what the settings say.
    package var arbiter: ArbiterChoice?
    package var isUnrelated: Bool
    package var isDryRun: Bool

    package init(
      target: Target = .heads, arbiter: ArbiterChoice? = nil, isUnrelated: Bool = false,
      isDryRun: Bool = false
    ) {
      self.target = target
      self.arbiter = arbiter
      self.isUnrelated = isUnrelated
      self.isDryRun = isDryRun
    }
  }

  package enum Settlement: Hashable, Sendable {
    /// What the tree holds now.
    case asIs
    case ours
    /// Counted from 1, as the names in `conflicts` are.
    case theirs(Int)
    case base
    case version(String)
  }

  package struct Compact: Hashable, Sendable {
    /// Seconds; history older than this may go. Nil: only what nothing refers to.
    package var age: UInt64?
    package var isDryRun: Bool

    package init(age: UInt64? = nil, isDryRun: Bool = false) {
      self.age = age
      self.isDryRun = isDryRun
    }
  }
}
