import Control
import Grammar
import ObjectStores
import Platform

/// Asks for the credentials of a peer and keeps them in the store; only its owner can read them.
struct PeerLogin {
  let store: String
  let name: String

  /// Writes `secrets/NAME` of the store: secrets are typed invisibly on a terminal, else each is a line of input.
  /// - Throws: ``UsageError`` for a peer without credentials, or if an answer is missing.
  func run(_ address: String, _ console: Console) throws {
    let questions: [(prompt: String, key: String, isSecret: Bool)]
    switch try PeerAddress(Array(address.utf8)) {
    case .remote(.s3):
      questions = [("access key", "access_key", false), ("secret key", "secret_key", true)]
    case .remote(.webDAV): questions = [("user", "user", false), ("password", "password", true)]
    case .remote(.rclone):
      throw UsageError("rclone keeps the credentials of its remotes itself: rclone config")
    case .remote(.directory), .document:
      throw UsageError("\(name) is no server, and needs no credentials")
    }
    var lines = ""
    for (prompt, key, isSecret) in questions {
      let isAsked = StandardStream.input.isTerminal
      if isAsked { console.ask("\(name): \(prompt): ") }
      let answer = isSecret ? StandardStream.input.readSecret() : StandardStream.input.readLine()
      if isAsked, isSecret { console.ask("\n") }
      guard let answer, !answer.isEmpty, !answer.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
      else { throw UsageError("the \(prompt) is missing, and nothing is changed") }
      lines += "\(key)=\(answer)\n"
    }
    let directory = "\(store)/secrets"
    if try !FileSystem.exists(directory) {
      try FileSystem.makeDirectory(directory, permissions: 0o700)
    }
    try FileSystem.replace("\(directory)/\(name)", with: Array(lines.utf8), permissions: 0o600)
  }

  func forget() throws {
    let path = "\(store)/secrets/\(name)"
    if try FileSystem.exists(path) { try FileSystem.unlink(path) }
  }
}
