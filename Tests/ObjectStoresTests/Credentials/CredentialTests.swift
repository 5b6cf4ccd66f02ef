import ObjectStoreSupport
import Platform
import TestSupport
import Testing

@testable import ObjectStores

@Suite(.timeLimit(.minutes(1)))
struct CredentialTests {
  private let directory: TemporaryDirectory
  private let s3: S3Address
  private let webDAV: WebDAVAddress

  init() throws {
    directory = try TemporaryDirectory()
    s3 = S3Address(S3Location(bucket: "bucket"))
    webDAV = WebDAVAddress(WebDAVLocation(host: "server.example"))
    try FileSystem.makeDirectory(directory.file("secrets"))
    try FileSystem.makeDirectory(directory.file("home"))
    try FileSystem.makeDirectory(directory.file("home/.aws"))
    try FileSystem.makeDirectory(directory.file("systemd"))
  }

  private func write(_ name: String, _ text: String, _ permissions: UInt32 = 0o600) throws {
    try FileSystem.replace(
      directory.file(name), with: Array(text.utf8), permissions: permissions)
  }

  private func sources(_ variables: [String: String] = [:]) -> CredentialSources {
    let all = ["HOME": directory.file("home")].merging(variables) { $1 }
    return CredentialSources(peer: "peer", secrets: directory.file("secrets")) { all[$0] }
  }

  private func keys(_ address: S3Address? = nil, _ variables: [String: String] = [:]) throws
    -> String?
  {
    try sources(variables).find(for: address ?? s3, control: TransferControl()).credentials
      .accessKey
  }

  @Test(
    "the first place that has some is taken: the store's, systemd's, the environment's, the home's")
  func order() throws {
    let all = [
      "CREDENTIALS_DIRECTORY": directory.file("systemd"), "AWS_ACCESS_KEY_ID": "environment",
      "AWS_SECRET_ACCESS_KEY": "s",
    ]
    try write(
      "home/.aws/credentials", "[default]\naws_access_key_id = home\naws_secret_access_key=s\n")
    #expect(try keys(nil, [:]) == "home")
    #expect(try keys(nil, all) == "environment")
    try write("systemd/llvs.peer", "access_key=systemd\nsecret_key=s\n")
    #expect(try keys(nil, all) == "systemd")
    try write("secrets/peer", "# mine\n\naccess_key=store\nsecret_key=a = b\n")
    #expect(try keys(nil, all) == "store")
    #expect(
      try sources().find(for: s3, control: TransferControl()).credentials.secretKey == "a = b")
  }

  @Test("a profile is that of the address, else of the environment, else the usual one")
  func profiles() throws {
    try write(
      "home/.aws/credentials",
      """
      [default]
      aws_access_key_id=usual
      aws_secret_access_key=s
      [work]
      ; a comment
      AWS_ACCESS_KEY_ID = work
      aws_secret_access_key = s
      aws_session_token = t
      """)
    try write(
      "home/.aws/config", "[default]\nregion=eu-north-1\n[profile work]\nregion = eu-west-3\n")
    var work = s3
    work.profile = "work"
    #expect(try keys() == "usual")
    #expect(try keys(work) == "work")
    #expect(try keys(nil, ["AWS_PROFILE": "work"]) == "work")
    // A profile that the address names comes before the environment.
    #expect(
      try keys(work, ["AWS_ACCESS_KEY_ID": "e", "AWS_SECRET_ACCESS_KEY": "s"]) == "work")
    #expect(try sources().region(for: s3) == "eu-north-1")
    #expect(try sources().region(for: work) == "eu-west-3")
    #expect(try sources(["AWS_DEFAULT_REGION": "a"]).region(for: work) == "a")
    #expect(try sources(["AWS_REGION": "b", "AWS_DEFAULT_REGION": "a"]).region(for: s3) == "b")
    work.region = "c"
    #expect(try sources(["AWS_REGION": "b"]).region(for: work) == "c")
    #expect(
      try CredentialSources(peer: "p", secrets: nil) { _ in nil }.region(for: s3) == "us-east-1")
    work.profile = "none"
    #expect(throws: RemoteError.self) { try keys(work) }
  }

  @Test("a file of secrets that others can read is not used")
  func permissions() throws {
    try write("secrets/peer", "access_key=a\nsecret_key=s\n", 0o640)
    let error = #expect(throws: RemoteError.self) { try keys() }
    #expect(error?.kind == .denied)
    #expect(error?.words.contains("chmod 600") == true)
  }

  @Test(
    "another user's store runs no command, and gets no key that is not its owner's",
    .enabled(if: SystemProcess.effectiveUser == 0, "only root can give files away"))
  func stranger() throws {
    let stranger: UInt32 = 54_321
    let mark = directory.file("mark")
    let home = "[default]\naws_access_key_id = home\naws_secret_access_key=s\n"
    try write("home/.aws/credentials", home)
    try write("home/.netrc", "machine server.example login me password secret\n")
    try write("systemd/llvs.peer", "access_key=systemd\nsecret_key=s\n")
    let variables = [
      "CREDENTIALS_DIRECTORY": directory.file("systemd"), "AWS_ACCESS_KEY_ID": "environment",
      "AWS_SECRET_ACCESS_KEY": "s",
    ]
    func refusal(_ owners: [UInt32]) throws -> String {
      var sources = sources(variables)
      sources.trust = OwnerTrust(owners: owners)
      let error = #expect(throws: RemoteError.self) {
        try sources.find(for: s3, control: TransferControl())
      }
      #expect(error?.kind == .denied)
      #expect(try !FileSystem.exists(mark))
      return error?.words ?? ""
    }
    // Neither systemd's, the environment's nor the home's.
    #expect(try refusal([stranger, 0]).contains("the store belongs to user 54321"))
    var netrc = sources()
    netrc.trust = OwnerTrust(owners: [stranger])
    #expect(try netrc.find(for: webDAV, control: TransferControl()) == nil)

    let command = "command=touch \(mark); echo access_key=a; echo secret_key=s\n"
    try write("secrets/peer", command)
    // A file of root's, which a link could name.
    #expect(try refusal([stranger]).contains("the store belongs to user 54321"))
    try FileSystem.setOwner(
      Array(directory.file("secrets/peer").utf8), uid: stranger, gid: stranger)
    #expect(try refusal([stranger]).contains("the command in"))
    // The store is root's, and the file is not.
    #expect(try refusal([0]).contains("another user owns it"))

    try write("secrets/peer", "access_key=theirs\nsecret_key=s\n")
    try FileSystem.setOwner(
      Array(directory.file("secrets/peer").utf8), uid: stranger, gid: stranger)
    var theirs = sources(variables)
    theirs.trust = OwnerTrust(owners: [stranger])
    let found = try theirs.find(for: s3, control: TransferControl())
    #expect(found.credentials.accessKey == "theirs")
    #expect(try theirs.region(for: s3) == "us-east-1")
  }

  @Test("a line that does not read is named by its number, and nothing of it is shown")
  func badLines() throws {
    for text in [
      "access_key=a\nSECRETWORD\n", "access_key=a\npassword SECRETWORD", "x\n=SECRETWORD",
      "access_key=a\nsecret-key=SECRETWORD", "access_key=a\nsecret_key=\u{1}SECRETWORD",
    ] {
      try write("secrets/peer", text)
      let error = #expect(throws: RemoteError.self) { try keys() }
      #expect(error?.kind == .invalid)
      #expect(error?.words.contains("line ") == true)
      #expect(error?.words.contains("SECRETWORD") == false)
    }
    try write("secrets/peer", "access_key=a\n")
    let error = #expect(throws: RemoteError.self) { try keys() }
    #expect(error?.words.contains("secret_key=") == true)
  }

  @Test(
    "a command gives such lines; one that fails, hangs on to others or says too much gives none")
  func commands() throws {
    try write("secrets/peer", "command=printf 'user=me\\npassword=p w\\n'\n")
    let found = try sources().find(for: webDAV, control: TransferControl())
    #expect(found?.credentials.password == "p w")
    for command in ["false", "echo password=SECRETWORD; exit 3", "yes", "echo command=true"] {
      try write("secrets/peer", "command=\(command)\n")
      let error = #expect(throws: RemoteError.self, "\(command)") {
        try sources().find(for: webDAV, control: TransferControl())
      }
      #expect(error?.words.contains("SECRETWORD") == false)
    }
    try write("secrets/peer", "command=sleep 60\n")
    let control = TransferControl()
    let thread = try TestThread {
      SystemClock.sleep(nanoseconds: 200_000_000)
      control.cancel()
    }
    let begun = SystemClock.monotonic()
    let error = #expect(throws: RemoteError.self) {
      try sources().find(for: webDAV, control: control)
    }
    #expect(error?.kind == .cancelled)
    #expect(SystemClock.monotonic() - begun < 1_200_000_000)
    thread.join()
  }

  @Test("a netrc is read by machine, with its comments, macros and the default")
  func netrc() throws {
    let text = """
      # machine server.example login wrong password wrong
      machine other.example login o password op
      macdef init
      machine server.example login macro password macro

      machine SERVER.example
        login me account x
        password p
      default login d password dp
      """
    let bytes = Array(text.utf8)
    #expect(CredentialText.netrc(bytes, host: "server.example")?.user == "me")
    #expect(CredentialText.netrc(bytes, host: "other.example")?.password == "op")
    #expect(CredentialText.netrc(bytes, host: "third.example")?.user == "d")
    #expect(CredentialText.netrc(Array("machine h login x".utf8), host: "h") == nil)
    try write("home/.netrc", text)
    let found = try sources().find(for: webDAV, control: TransferControl())
    #expect(found?.credentials.user == "me")
    #expect(try sources(["NETRC": "/none"]).find(for: webDAV, control: TransferControl()) == nil)
  }

  @Test("a peer's name leads to no file outside the directory of secrets")
  func names() throws {
    try write("outside", "user=me\npassword=p\n")
    for peer in ["../outside", ".", "..", "a/b"] {
      let sources = CredentialSources(peer: peer, secrets: directory.file("secrets")) { _ in nil }
      #expect(try sources.find(for: webDAV, control: TransferControl()) == nil)
    }
  }
}
