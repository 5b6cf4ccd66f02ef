/// Picks one of several versions to show; only writing the value ends the conflict.
public protocol Resolver {
  func resolveVersions(_ versions: [Version]) -> Value?
}

/// Picks the latest version; of several at one time the one with the greatest author id.
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
  public func resolved(with resolver: any Resolver) -> Value? { resolver.resolveVersions(self) }
}
