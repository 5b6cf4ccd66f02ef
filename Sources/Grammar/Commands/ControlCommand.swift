/// A command to a store, as a line of its control file gives it.
package enum ControlCommand: Hashable, Sendable {
  /// Makes a version of all saved changes.
  case commit(message: String?)
  /// Keeps changes out of versions until the same handle commits or is closed, or the time is up, in
  /// nanoseconds.
  case hold(nanoseconds: UInt64)
  /// Without peers, all of them; the same holds for `send`, `exchange` and `sync`.
  case retrieve(peers: [String])
  /// Writes versions to peers.
  case send(peers: [String])
  /// Retrieves and sends.
  case exchange(peers: [String])
  /// Merges heads into the working tree.
  case merge(Merge)
  /// Takes a document, or a directory from outside, into the tree.
  case importing(Import)
  /// Commits, retrieves, merges and sends.
  case sync(peers: [String])
  /// Without paths, the whole tree.
  case restore(version: String, paths: [[UInt8]])
  /// Goes back by one change of the head.
  case undo
  /// Makes the change again that undo took back.
  case redo
  /// Starts a named line.
  case branch(String)
  /// Lists the named lines.
  case branches
  /// Removes the name of a line; `isForced` removes it also where no other line holds its versions.
  case removeBranch(String, isForced: Bool)
  /// Gives a line another name.
  case renameBranch(String, to: String)
  /// The target is a version, a branch, or `-` for the unnamed line.
  case switchTo(String, line: String?)
  /// Names a version, the head if none is given; `moves` takes the name from the version that has
  /// it.
  case tag(String, version: String?, moves: Bool = false)
  /// Lists the tags.
  case tags
  /// Removes a tag.
  case removeTag(String)
  /// Gives a tag another name.
  case renameTag(String, to: String)
  /// Settles the conflicts at a path and below it.
  case settle(path: [UInt8], Settlement)
  /// Lists the open conflicts at a path and below it; all of them without a path.
  case conflicts(path: [UInt8]?)
  /// Changes settings.
  case set([StoreSettings.Assignment])
  /// Changes settings of peers.
  case setPeers([PeerSettings.Assignment])
  /// Gives the store another id, as one that was copied has.
  case renewReplica
  /// Lists the named settings; all of them without names.
  case settings([StoreSettings.Name])
  /// Adds lines to the store's own ignore patterns; without any, lists them.
  case ignore(patterns: [[UInt8]])
  /// Tells which pattern keeps paths out of versions.
  case checkIgnored(paths: [[UInt8]])
  /// Takes paths out of versions and keeps them in the working tree.
  case untrack(paths: [[UInt8]])
  /// Checks every hash of the store and the working tree, or every hash of a peer.
  case verify(peer: String?)
  /// Checks the working tree alone.
  case verifyTree
  /// Changes what is known of a peer's place.
  case peer(String, PeerChange)
  /// Takes over the bundles of a writer whose device is lost.
  case adopt(peer: String, writer: String)
  /// Does something with the keys of an encrypted peer.
  case key(String, KeyRequest)
  /// Shows the state of the store.
  case status
  /// Lists the changes that are in no version yet.
  case pending
  /// The last lines of the log.
  case log(count: Int?)
  /// Lists the commands.
  case help

  /// The changes of what is known of a peer's place.
  package enum PeerChange: String, Hashable, Sendable, CaseIterable {
    /// Forgets what was seen there: the place is empty, or another one, on purpose.
    case reset = "--reset"
    /// Allows the place to hold other things too.
    case force = "--force"
  }

  /// The arguments of `merge`.
  package struct Merge: Hashable, Sendable {
    /// The heads that are merged.
    package enum Target: Hashable, Sendable {
      /// All heads of the working tree's line.
      case heads
      /// All heads of all lines.
      case all
      /// A version or a branch.
      case named(String)
    }

    /// The heads that are merged.
    package var target: Target
    /// Nil for the arbiter of the settings.
    package var arbiter: ArbiterChoice?
    /// True if histories without a common ancestor may be merged.
    package var isUnrelated: Bool
    /// True if the outcome is only shown.
    package var isDryRun: Bool

    /// Creates the arguments; the defaults merge the heads of the working tree's line.
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

  /// The value that `settle` stores at a path.
  package enum Settlement: Hashable, Sendable {
    /// The value that the tree holds now.
    case asIs
    /// The working tree's side.
    case ours
    /// The n-th other side, counted from 1, as in the names in `conflicts`.
    case theirs(Int)
    /// The common ancestor's value.
    case base
    /// The value of a version.
    case version(String)
  }
}
