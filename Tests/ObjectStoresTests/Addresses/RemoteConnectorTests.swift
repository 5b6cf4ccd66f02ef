import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RemoteConnectorTests {
  private func open(
    _ address: String, _ lines: String? = nil, _ variables: [String: String] = [:]
  ) throws -> any ObjectStore {
    let directory = try KeptDirectory.make()
    if let lines {
      try FileSystem.replace("\(directory)/peer", with: Array(lines.utf8), permissions: 0o600)
    }
    return try RemoteConnector(
      try RemoteAddress(address),
      credentials: CredentialSources(peer: "peer", secrets: directory) { variables[$0] },
      control: TransferControl(), scratch: ".scratch"
    ).open()
  }

  @Test("a password goes over no network that is not encrypted, unless the address says so")
  func insecure() throws {
    let lines = "user=me\npassword=secret"
    let error = #expect(throws: RemoteError.self) {
      try open("http+webdav://server.example/x", lines)
    }
    #expect(error?.kind == .invalid)
    #expect(error?.words.contains("insecure=1") == true)
    for address in [
      "http+webdav://server.example/x?insecure=1", "https+webdav://server.example/x",
      "http+webdav://localhost/x", "http+webdav://127.0.0.1:80/x", "http+webdav://[::1]/x",
    ] { _ = try open(address, lines) }
    // Names that only look like this machine.
    for host in ["127.0.0.1.example", "127.example", "localhost.example", "128.0.0.1"] {
      #expect(throws: RemoteError.self) { try open("http+webdav://\(host)/x", lines) }
    }
    // Without a password nothing can be read by others.
    _ = try open("http+webdav://server.example/x")
  }

  @Test("a bucket without keys is refused, and all places where they were looked for are named")
  func noKeys() throws {
    let error = #expect(throws: RemoteError.self) { try open("s3://bucket") }
    #expect(error?.kind == .denied)
    for word in ["/peer", "llvs.peer", "AWS_ACCESS_KEY_ID", "~/.aws/credentials", "--login"] {
      #expect(error?.words.contains(word) == true, "\(word)")
    }
  }

  @Test("an unknown certificate is refused, and one of the file in ca= is taken")
  func certificates() throws {
    let directory = try TemporaryDirectory()
    let made = try shell(
      """
      openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout key -out certificate 2>/dev/null
      """, in: directory.path)
    guard made.status == 0 else {
      print("openssl is not here: certificates are not tried.")
      return
    }
    // A port that was free a moment ago.
    let holder = try FakeServer { _, _ in .init(200) }
    let port = holder.port
    holder.stop()
    let server = try OwnedProcess(
      [
        "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-key", directory.file("key"),
        "-cert", directory.file("certificate"), "-WWW", "-quiet",
      ], environment: SystemProcess.environment)
    defer { withExtendedLifetime(server) {} }
    let name = try #require(ObjectName("absent"))
    var last: RemoteError?
    _ = eventually {
      last = (try? open("https+webdav://localhost:\(port)/x")).flatMap { store in
        do throws(RemoteError) {
          _ = try store.bytes(of: name, atMost: 1)
          return nil
        } catch {
          return error
        }
      }
      return last?.words.contains("certificate") == true
    }
    #expect(last?.kind == .unreachable)
    #expect(last?.isTransient == false)
    let trusting = try open(
      "https+webdav://localhost:\(port)/x?ca=\(directory.file("certificate"))")
    // It says that it has no such file, which it can only where it is trusted.
    #expect(try !trusting.bytes(of: name, atMost: 1 << 16).isEmpty)
    // The name that is asked for has to be the certificate's.
    let other = try open("https+webdav://127.0.0.1:\(port)/x?ca=\(directory.file("certificate"))")
    let mismatch = #expect(throws: RemoteError.self) { try other.bytes(of: name, atMost: 1) }
    #expect(mismatch?.words.contains("certificate") == true)
  }

  @Test("another user's store names no file of certificates, and starts no rclone")
  func stranger() throws {
    let directory = try TemporaryDirectory()
    for address in [
      "https+webdav://server.example/x?ca=/etc/passwd",
      "s3+https://server.example/bucket?ca=/etc/passwd", "rclone:drive:x",
    ] {
      let connector = RemoteConnector(
        try RemoteAddress(address),
        credentials: CredentialSources(
          peer: "peer", secrets: directory.path, trust: OwnerTrust(owners: [54_321])
        ) { _ in nil },
        control: TransferControl(), scratch: ".scratch")
      let error = #expect(throws: RemoteError.self) { try connector.open() }
      #expect(error?.kind == .denied)
      #expect(error?.words.contains("the store belongs to user 54321") == true, "\(address)")
    }
  }

  @Test("a program that is not there, or a remote that rclone does not know, is named")
  func rclone() throws {
    let error = #expect(throws: RemoteError.self) {
      try open("rclone:drive:x", nil, ["LLVS_RCLONE": "/no/such/rclone"])
    }
    #expect(error?.kind == .unsupported)
    #expect(error?.words.contains("apt install rclone") == true)
    guard SystemProcess.isInstalled("rclone") else {
      print("rclone is not here: the rest is not tried.")
      return
    }
    let unknown = #expect(throws: RemoteError.self) { try open("rclone:no-such-remote-of-ours:x") }
    #expect(unknown?.kind == .noPlace)
    #expect(unknown?.words.contains("rclone config") == true)
  }
}
