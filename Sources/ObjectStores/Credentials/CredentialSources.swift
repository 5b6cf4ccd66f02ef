package import Platform

/// The places of the credentials for a remote, in order of precedence:
///
/// 1. the caller's own;
/// 2. a file of the store's own, which only its owner may read;
/// 3. a file that systemd passes to a service (`LoadCredential=`);
/// 4. for S3 the variables `AWS_*`, then a profile in `~/.aws`;
/// 5. for WebDAV `~/.netrc`.
///
/// For another user's store only the first two places count.
package struct CredentialSources: Sendable {
  /// The peer's name, also the name of the first two files.
  package var peer: String
  package var secrets: String?
  package var given: RemoteCredentials?
  package var environment: @Sendable (String) -> String?
  package var trust: OwnerTrust
  private static let longestFile = 1 << 16
  /// The longest run time of a command that prints credentials, in nanoseconds.
  private static let patience: UInt64 = 30_000_000_000

  package init(
    peer: String, secrets: String?, trust: OwnerTrust = .own,
    environment: @escaping @Sendable (String) -> String? = { SystemProcess.environment($0) }
  ) {
    self.peer = peer
    self.secrets = secrets
    self.trust = trust
    self.environment = environment
  }

  package struct Found: Sendable {
    package var credentials: RemoteCredentials
    /// The place of the credentials, for messages.
    package var place: String
  }

  /// - Throws: ``RemoteError`` with `denied` and all places if there are none; `invalid` for a malformed file.
  package func find(for address: S3Address, control: TransferControl) throws(RemoteError) -> Found {
    if let found = try own(control) { return try checked(found, forS3: true) }
    guard trust.isOwn else {
      throw RemoteError(
        .denied, trust.refusal(of: "a key outside of \(secrets ?? "")/\(peer)"))
    }
    if address.profile == nil, let key = variable("AWS_ACCESS_KEY_ID"),
      let secret = variable("AWS_SECRET_ACCESS_KEY")
    {
      let credentials = RemoteCredentials(
        accessKey: key, secretKey: secret, sessionToken: variable("AWS_SESSION_TOKEN"))
      return Found(credentials: credentials, place: "AWS_ACCESS_KEY_ID")
    }
    let settings = try profile(address)
    if let key = settings["aws_access_key_id"], let secret = settings["aws_secret_access_key"] {
      let credentials = RemoteCredentials(
        accessKey: key, secretKey: secret, sessionToken: settings["aws_session_token"])
      return Found(credentials: credentials, place: "the profile \(profileName(address))")
    }
    throw RemoteError(
      .denied,
      "there are no keys for it: none in \(places(forS3: true)); "
        + "\"llvs peer \(peer) --login\" asks for them")
  }

  /// - Throws: ``RemoteError`` with `invalid` for a malformed file.
  package func find(
    for address: WebDAVAddress, control: TransferControl
  ) throws(RemoteError) -> Found? {
    if let found = try own(control) { return try checked(found, forS3: false) }
    guard trust.isOwn, let path = variable("NETRC") ?? variable("HOME").map({ $0 + "/.netrc" }),
      let bytes = try read(path),
      let credentials = CredentialText.netrc(bytes, host: address.place.host)
    else { return nil }
    return Found(credentials: credentials, place: path)
  }

  /// The places, for a message that none has credentials.
  package func places(forS3 isS3: Bool) -> String {
    let own = secrets.map { "\($0)/\(peer)" } ?? "the store's secrets"
    let others =
      isS3
      ? ["AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "~/.aws/credentials"] : ["~/.netrc"]
    return ([own, "$CREDENTIALS_DIRECTORY/llvs.\(peer)"] + others).joined(separator: ", ")
  }

  /// Returns the region of a bucket: the address's, the environment's, the profile's, or `us-east-1`.
  package func region(for address: S3Address) throws(RemoteError) -> String {
    if let region = address.region ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") {
      return region
    }
    return try profile(address)["region"] ?? "us-east-1"
  }

  private func variable(_ name: String) -> String? {
    environment(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  private func own(_ control: TransferControl) throws(RemoteError) -> Found? {
    if let given { return Found(credentials: given, place: "the program") }
    // A name with a path out of the directory is no peer's.
    guard !peer.contains("/"), peer != ".", peer != ".." else { return nil }
    let directory = trust.isOwn ? variable("CREDENTIALS_DIRECTORY") : nil
    for path in [secrets.map { "\($0)/\(peer)" }, directory.map { "\($0)/llvs.\(peer)" }] {
      guard let path, let (bytes, owner) = try readOwned(path, isOwn: true) else { continue }
      let lines = try CredentialText.lines(bytes, of: path)
      guard let command = lines.command else {
        return Found(credentials: lines.credentials, place: path)
      }
      guard trust.runsPrograms(ofFileOwnedBy: owner) else {
        throw RemoteError(.denied, trust.refusal(of: "the command in \(path)"))
      }
      return try run(command, from: path, control)
    }
    return nil
  }

  private func run(
    _ command: String, from path: String, _ control: TransferControl
  ) throws(RemoteError) -> Found {
    let code: Int32
    let bytes: [UInt8]
    do throws(SystemError) {
      (code, bytes) = try ChildProcess.output(
        of: ["/bin/sh", "-c", command], atMost: Self.longestFile, patience: Self.patience,
        isGivenUp: { control.isCancelled })
    } catch {
      if error.errno == Errno.cancelled { throw .cancelled }
      throw RemoteError(.denied, "the command in \(path) gave no credentials: \(error)")
    }
    guard code == 0 else {
      throw RemoteError(
        .denied, "the command in \(path) gave no credentials: it ended with code \(code)")
    }
    let lines = try CredentialText.lines(bytes, of: "the output of the command in \(path)")
    guard lines.command == nil else {
      throw RemoteError(.invalid, "the command in \(path) names another command")
    }
    return Found(credentials: lines.credentials, place: "the command in \(path)")
  }

  private func checked(_ found: Found, forS3 isS3: Bool) throws(RemoteError) -> Found {
    let has = found.credentials
    let isWhole =
      isS3 ? has.accessKey != nil && has.secretKey != nil : has.user != nil && has.password != nil
    guard isWhole else {
      throw RemoteError(
        .invalid,
        "\(found.place) has no "
          + (isS3 ? "access_key= and secret_key=" : "user= and password=") + " in it")
    }
    return found
  }

  private func profileName(_ address: S3Address) -> String {
    address.profile ?? variable("AWS_PROFILE") ?? "default"
  }

  private func profile(_ address: S3Address) throws(RemoteError) -> [String: String] {
    guard trust.isOwn else { return [:] }
    let name = profileName(address)
    let home = variable("HOME")
    let files = [
      (variable("AWS_CONFIG_FILE") ?? home.map { $0 + "/.aws/config" }, "profile \(name)"),
      (variable("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { $0 + "/.aws/credentials" }, name),
    ]
    var settings: [String: String] = [:]
    for (path, section) in files {
      guard let path, let bytes = try read(path) else { continue }
      // The default profile has this name in both files.
      let names: Set = name == "default" ? [section, name] : [section]
      settings.merge(CredentialText.section(names, of: bytes)) { $1 }
    }
    return settings
  }

  private func read(_ path: String) throws(RemoteError) -> [UInt8]? {
    try readOwned(path, isOwn: false)?.bytes
  }

  /// Returns the bytes and the owner of a file; nil if it is missing. `denied` for a secret that others may read, or
  /// that is another user's.
  private func readOwned(
    _ path: String, isOwn: Bool
  ) throws(RemoteError) -> (bytes: [UInt8], owner: UInt32)? {
    do throws(SystemError) {
      let file = try File(path, [.read, .nonBlocking])
      let status = try file.status()
      guard status.kind == .regular, status.size <= UInt64(Self.longestFile) else {
        throw SystemError(errno: Errno.invalid, call: "open", subject: path)
      }
      guard !isOwn || status.mode & 0o077 == 0 else {
        throw SystemError(errno: Errno.operationNotPermitted, call: "open", subject: path)
      }
      guard !isOwn || trust.readsFile(ownedBy: status.uid) else {
        throw SystemError(errno: Errno.operationNotPermitted, call: "owner", subject: path)
      }
      return (try file.read(Self.longestFile, at: 0), status.uid)
    } catch {
      switch error.errno {
      case Errno.noEntry, Errno.notDirectory: return nil
      case Errno.operationNotPermitted where error.call == "owner":
        throw RemoteError(.denied, trust.refusal(of: path))
      case Errno.operationNotPermitted where isOwn:
        throw RemoteError(.denied, "\(path) can be read by others: chmod 600 it")
      // A service may see another user's home, which has nothing for this user.
      case Errno.accessDenied where !isOwn: return nil
      default: throw RemoteError(.denied, "the credentials cannot be read: \(error)")
      }
    }
  }
}
