import Glibc
import ObjectStores
import Platform

/// The servers that `mount-scripts/servers` runs, as far as they do: `LLVS_TEST_SERVERS` names its file.
enum TestServers {
  /// One of them.
  struct Server: Sendable {
    var name: String
    var address: RemoteAddress
    var user: String
    var password: String
  }

  static let all: [Server] = {
    guard let path = SystemProcess.environment("LLVS_TEST_SERVERS"),
      let bytes = try? FileSystem.read(path, atMost: 1 << 16)
    else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4, let address = try? RemoteAddress(words[1]) else { return nil }
      let server = Server(name: words[0], address: address, user: words[2], password: words[3])
      // The configuration of rclone, which its child processes inherit.
      if case .rclone = address, server.password != "-" {
        setenv("RCLONE_CONFIG", server.password, 1)
      }
      return server
    }
  }()

  static func named(_ name: String) -> Server? { all.first { $0.name == name } }

  static let stores: [StoreUnderTest] = all.map { server in
    var store = StoreUnderTest(name: server.name) { control, pageLength in
      var opening = opening(server, control)
      opening.pageLength = pageLength
      return try opening.openOnce()
    }
    switch server.name {
    case "rclone-webdav": store.leavesTornObjects = true
    case "localbucket": store.leavesTornObjects = nil
    // Encrypted names are longer than plain ones.
    case "rclone-crypt": store.refuses = { $0.utf8.count > 140 }
    // It has one object for the two ways to encode an accent.
    case "rclone-s3": store.refuses = { $0.unicodeScalars.contains("\u{301}") }
    // Its module leaves out what a directory list of Unix leaves out.
    case "nginx": store.hides = { $0.hasPrefix(".") }
    default: store.leavesTornObjects = false
    }
    // A torn object is visible until rclone has noticed and removed it.
    if case .rclone = server.address { store.leavesTornObjects = nil }
    return store
  }

  static func opening(_ server: Server, _ control: TransferControl) -> RemoteConnector {
    let place = secrets(server)
    let sources = CredentialSources(peer: server.name, secrets: place) { name in
      name == "LLVS_RCLONE" && server.name.hasPrefix("rclone") ? server.user : nil
    }
    return RemoteConnector(
      server.address, credentials: sources, control: control, scratch: ".llvs-outgoing-test")
  }

  /// A directory with the server's credentials, as a store has one.
  private static func secrets(_ server: Server) -> String? {
    let lines: String
    switch server.address {
    case .s3: lines = "access_key=\(server.user)\nsecret_key=\(server.password)\n"
    case .webDAV: lines = "user=\(server.user)\npassword=\(server.password)\n"
    default: return nil
    }
    guard let directory = try? KeptDirectory.make() else { return nil }
    try? FileSystem.replace(
      "\(directory)/\(server.name)", with: Array(lines.utf8), permissions: 0o600)
    return directory
  }
}
