internal import Foundation

/// The name of a branch, compared as bytes; in a version's metadata.
public struct Branch: ByteComparedName {
  public var rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates a branch with a unique name: `BASE_UUID`, or a UUID without a base.
  public init(randomizedNameBasedOn baseName: String? = nil) {
    let unique = UUID().uuidString
    rawValue = baseName.map { "\($0)_\(unique)" } ?? unique
  }
}
