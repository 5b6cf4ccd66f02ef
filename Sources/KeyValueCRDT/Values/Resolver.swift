/// Picks one value out of several versions of a key.
///
/// A resolver only says what to show. Writing the value is what ends the conflict.
public protocol Resolver {
  /// Returns the value to use; nil where there is none.
  func resolveVersions(_ versions: [Version]) -> Value?
}

/// Picks the version with the latest time; of several with that time, the one with the greatest author id,
/// so that every copy of a database picks the same.
public struct LastWriterWinsResolver: Resolver, Sendable {
  /// Creates the resolver.
  public init() {}

  /// Returns the value of the latest version.
  public func resolveVersions(_ versions: [Version]) -> Value? {
    versions.max(by: Version.precedes)?.value
  }
}

extension Resolver where Self == LastWriterWinsResolver {
  /// Picks the version with the latest time.
  public static var lastWriterWins: LastWriterWinsResolver { LastWriterWinsResolver() }
}

extension [Version] {
  /// The value that a resolver picks.
  public func resolved(with resolver: any Resolver) -> Value? {
    resolver.resolveVersions(self)
  }
}
