import ObjectStoreSupport
import ObjectStores
import Platform
import Testing

/// A kind of remote that speaks HTTP, before a server that a test plays.
struct HTTPKind: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let address: @Sendable (UInt16) -> String

  static let s3 = HTTPKind(testDescription: "S3") { "s3+http://127.0.0.1:\($0)/bucket/place" }
  static let webDAV = HTTPKind(testDescription: "WebDAV") { "http+webdav://127.0.0.1:\($0)/place" }
  static let all = [s3, webDAV]

  /// Opens it with short waits.
  func open(
    _ server: FakeServer, control: TransferControl = TransferControl(), attempts: Int = 5
  ) throws -> any ObjectStore {
    let directory = try KeptDirectory.make()
    let lines = "user=me\npassword=secret word\naccess_key=AKID\nsecret_key=SECRET\n"
    try FileSystem.replace("\(directory)/peer", with: Array(lines.utf8), permissions: 0o600)
    var opening = RemoteConnector(
      try RemoteAddress(address(server.port)),
      credentials: CredentialSources(peer: "peer", secrets: directory) { _ in nil },
      control: control, scratch: ".scratch")
    var limits = RemoteLimits()
    limits.attempts = attempts
    limits.firstWait = 1_000_000
    limits.longestWait = 4_000_000
    limits.stall = 1_000_000_000
    limits.crawl = 2_000_000_000
    limits.connect = 1_000_000_000
    opening.limits = limits
    return try opening.open()
  }
}
