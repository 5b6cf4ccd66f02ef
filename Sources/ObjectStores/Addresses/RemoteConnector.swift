internal import Platform

package struct RemoteConnector: Sendable {
  package var address: RemoteAddress
  package var credentials: CredentialSources
  package var control: TransferControl
  /// Nil for the default of the kind of remote.
  package var limits: RemoteLimits?
  /// The name of this store's own directory for unfinished objects in a remote that is a directory.
  package var scratch: String
  /// The most objects in a page of a list, if the remote supports this.
  package var pageLength = 1000

  package init(
    _ address: RemoteAddress, credentials: CredentialSources, control: TransferControl,
    scratch: String
  ) {
    self.address = address
    self.credentials = credentials
    self.control = control
    self.scratch = scratch
  }

  /// Opens a remote that retries failed requests.
  /// - Throws: ``RemoteError`` if credentials or a required program are missing.
  package func open() throws(RemoteError) -> any ObjectStore {
    RetryingStore(try openOnce(), limits: limits ?? usualLimits, control: control)
  }

  private var usualLimits: RemoteLimits {
    switch address {
    case .directory, .s3: RemoteLimits()
    case .webDAV, .rclone: .forFewRequests
    }
  }

  package func openOnce() throws(RemoteError) -> any ObjectStore {
    let limits = limits ?? usualLimits
    try refuseChoicesOfStrangers()
    switch address {
    case .directory(let path, _):
      return DirectoryStore(path: path, scratch: scratch, control: control)
    case .s3(let s3):
      let found = try credentials.find(for: s3, control: control)
      return S3Store(
        s3.place, region: try credentials.region(for: s3), credentials: found.credentials,
        client: client(s3.certificates, limits), pageLength: pageLength)
    case .webDAV(let webDAV):
      let found = try credentials.find(for: webDAV, control: control)
      if found != nil, !webDAV.place.isEncrypted, !webDAV.isInsecure,
        !Self.isLoopback(webDAV.place.host)
      {
        throw RemoteError(
          .invalid,
          "the password would go over the network for all to read: use https+webdav://, or say "
            + "?insecure=1 at the end of the address if the network is yours alone")
      }
      return WebDAVStore(
        webDAV.place, credentials: found?.credentials, client: client(webDAV.certificates, limits))
    case .rclone(let place):
      return try RcloneStore(
        place, program: credentials.environment("LLVS_RCLONE") ?? "rclone", limits: limits,
        control: control)
    }
  }

  /// Refuses what makes this process run a program, or read a file outside of the store, in another user's store.
  private func refuseChoicesOfStrangers() throws(RemoteError) {
    guard !credentials.trust.isOwn else { return }
    let choice: String? =
      switch address {
      case .directory: nil
      case .s3(let s3): s3.certificates.map { "ca=\($0)" }
      case .webDAV(let webDAV): webDAV.certificates.map { "ca=\($0)" }
      // The remote's configuration, also in its name, may have commands.
      case .rclone: "rclone"
      }
    if let choice { throw RemoteError(.denied, credentials.trust.refusal(of: choice)) }
  }

  private func client(_ certificates: String?, _ limits: RemoteLimits) -> HTTPClient {
    var settings = HTTPClient.Settings(limits: limits)
    settings.certificates = certificates
    return HTTPClient(settings, control: control)
  }

  static func isLoopback(_ host: String) -> Bool {
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return host == "localhost" || host == "[::1]"
      || numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }
}
