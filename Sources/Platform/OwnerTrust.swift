/// The rule for everything that a store can make this process run or read (docs/exchanges.md, rule 10). The process may
/// have more rights than the store's owner.
package struct OwnerTrust: Hashable, Sendable {
  /// The trust in a store of root or of this process's user.
  package static let own = OwnerTrust(owners: [])

  /// The owners of the store other than root and this process's user.
  package let strangers: [UInt32]

  package init(owners: [UInt32]) {
    strangers = owners.filter(Self.isStranger).reduce(into: []) { found, owner in
      if !found.contains(owner) { found.append(owner) }
    }
  }

  private static func isStranger(_ user: UInt32) -> Bool {
    user != 0 && user != SystemProcess.effectiveUser
  }

  /// True if the store may choose programs, and files outside of it.
  package var isOwn: Bool { strangers.isEmpty }

  /// True if a program that a file of the store names may run.
  package func runsPrograms(ofFileOwnedBy user: UInt32) -> Bool {
    isOwn && !Self.isStranger(user)
  }

  /// True if a secret of the store may be read; a link in another user's store may name any file.
  package func readsFile(ownedBy user: UInt32) -> Bool {
    isOwn ? !Self.isStranger(user) : strangers.contains(user)
  }

  /// A sentence for a refusal; `what` is what the store names.
  package func refusal(of what: String) -> String {
    let owner = strangers.first.map { "the store belongs to user \($0)" } ?? "another user owns it"
    return "\(what) is not used, because \(owner): chown changes that"
  }
}
