package import LLVSCore

/// The version that each epoch stands for.
package struct EpochTable: Hashable, Sendable {
  private var versions: [Epoch: VersionNumber?] = [:]

  /// Creates a table of a store without versions, in the first epoch.
  package init() {}

  package init(_ epoch: Epoch, showing version: VersionNumber?) { versions[epoch] = .some(version) }

  /// Creates a table from the store's numbers of versions; 0 is the time before the first one.
  package init(_ numbers: [Epoch: UInt32]) {
    for (epoch, number) in numbers {
      versions[epoch] = .some(number == 0 ? nil : VersionNumber(number))
    }
  }

  /// All epochs that stand for a version, or for the time before the first one.
  package var epochs: [Epoch] { versions.keys.sorted() }

  /// True if an epoch is in the table.
  package func has(_ epoch: Epoch) -> Bool { versions[epoch] != nil }

  /// Returns the version that an epoch stands for; `head` for one that is not in the table.
  package func version(_ epoch: Epoch, otherwise head: VersionNumber?) -> VersionNumber? {
    versions[epoch] ?? head
  }

  /// Lets an epoch stand for a version; nil is the time before the first version.
  package mutating func set(_ epoch: Epoch, to version: VersionNumber?) {
    versions[epoch] = .some(version)
  }
}
