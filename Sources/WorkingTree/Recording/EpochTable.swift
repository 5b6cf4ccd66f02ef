package import LLVSCore

/// The version of each epoch; nil is the time before the first version.
package struct EpochTable: Hashable, Sendable {
  private var versions: [Epoch: VersionNumber?] = [:]

  /// `numbers` are the store's numbers of versions; 0 is the time before the first one.
  package init(_ numbers: [Epoch: UInt32]) {
    for (epoch, number) in numbers {
      versions[epoch] = .some(number == 0 ? nil : VersionNumber(number))
    }
  }

  /// `head` for an epoch that is not in the table.
  package func version(_ epoch: Epoch, otherwise head: VersionNumber?) -> VersionNumber? {
    versions[epoch] ?? head
  }
}
