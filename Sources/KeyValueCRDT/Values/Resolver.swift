/// Picks one of several versions to show; only writing the value ends the conflict.
public protocol Resolver {
  func resolveVersions(_ versions: [Version]) -> Value?
}

/// Picks the latest version; of several at one time the one with the greatest author id.
public struct LastWriterWinsResolver: Resolver, Sendable {
  public init() {}

  public func resolveVersions(_ versions: [Version]) -> Value? {
    versions.max(by: Version.precedes)?.value
  }
}

extension Resolver where Self == LastWriterWinsResolver {
  public static var lastWriterWins: LastWriterWinsResolver { LastWriterWinsResolver() }
}

extension [Version] {
  public func resolved(with resolver: any Resolver) -> Value? { resolver.resolveVersions(self) }
}
