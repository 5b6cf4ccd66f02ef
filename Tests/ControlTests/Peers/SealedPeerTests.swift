import Grammar
import LLVSCore
import LLVSExchange
import ObjectStores
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import LLVSExchange
@testable import TreeSupport

/// Peers at which everything is encrypted.
@Suite("Encrypted peers", .timeLimit(.minutes(2)))
struct SealedPeerTests {
  private let directory: TemporaryDirectory
  private let folder: String

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("remote")
    try FileSystem.makeDirectory(folder)
  }

  private func keys(_ space: ControlWorkspace, _ folder: String? = nil) throws -> PeerKeys {
    let address = try PeerAddress(Array((folder ?? self.folder).utf8))
    var keys = try PeerKeys(
      PeerOpening(name: "away", store: space.store, transfer: TransferControl()), at: address)
    keys.strength = KeyFile.Strength(passes: 1, kibibytes: 8192)
    return keys
  }

  /// Does what `llvs peer away FOLDER --encrypt` does.
  @discardableResult
  private func seal(
    _ space: ControlWorkspace, _ passphrase: String, label: String = "one"
  ) throws -> CommandResult {
    let result = try keys(space).open(label: label) { _ in Array(passphrase.utf8) }
    try space.run("set away.encrypt=on")
    try space.service.setPeer("away", address: Array(folder.utf8))
    return result
  }

  private func failure(_ space: ControlWorkspace, _ line: String) throws -> ControlError {
    try #require(throws: ControlError.self) { try space.run(line) }
  }

  private func bytes() throws -> [UInt8] {
    var all: [UInt8] = []
    for name in try FileSystem.list("\(folder)/bundles") {
      all += try FileSystem.read("\(folder)/bundles/\(name)", atMost: 1 << 24)
    }
    return all
  }

  @Test("two stores with the passphrase agree, and a wrong one is refused")
  func exchange() throws {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let made = try seal(a, "first words")
    #expect(made.reply["isNew"] == .flag(true))
    try a.write("diary.txt", String(repeating: "what nobody else may read. ", count: 100))
    try a.run("sync")
    #expect(try FileSystem.list(folder).sorted() == ["bundles", "keys"])
    #expect(!String(decoding: try bytes(), as: UTF8.self).contains("diary"))
    let wrong = try #require(throws: ControlError.self) { try seal(b, "other words") }
    #expect(wrong.kind == .notPermitted)
    #expect(wrong.message.contains("one"))
    #expect(try b.service.allPeers().isEmpty)
    try seal(b, "first words")
    try b.run("sync")
    #expect(try b.read("diary.txt") == a.read("diary.txt"))
    try b.write("answer", "from b")
    try b.run("sync")
    try a.run("sync")
    #expect(try a.read("answer") == "from b")
    // Keys are for the owner alone, and in no backup.
    let path = "\(a.store.path)/secrets/away:keys"
    #expect(try FileSystem.status(path, following: false).mode & 0o777 == 0o600)
    let copy = directory.file("backup")
    try TreeSession.backup(a.store, to: copy) { _, _ in true }
    #expect(try !FileSystem.exists("\(copy)/secrets"))
  }

  @Test("a peer that is not set to be encrypted stops where keys are, and sends nothing")
  func notSet() throws {
    let (a, b, c) = (try ControlWorkspace(), try ControlWorkspace(), try ControlWorkspace())
    try seal(a, "words")
    // Nothing but the key is there yet.
    try c.service.setPeer("away", address: Array("bundle+\(folder)".utf8))
    try c.write("plain", "plain")
    #expect(try failure(c, "sync").message.contains("llvs peer away --encrypt"))
    try a.write("f", "of a")
    try a.run("sync")
    let before = try FileSystem.list("\(folder)/bundles")
    for address in [folder, "bundle+\(folder)"] {
      try b.service.setPeer("away", address: Array(address.utf8))
      try b.write("plain", "plain")
      let error = try failure(b, "sync")
      #expect(error.kind == .notPermitted && error.message.contains("llvs peer away --encrypt"))
    }
    #expect(try FileSystem.list("\(folder)/bundles") == before)
    #expect(try FileSystem.list(folder).sorted() == ["bundles", "keys"])
  }

  @Test("plain bundles and the original's files are neither read nor written at an encrypted peer")
  func plain() throws {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    try seal(a, "words")
    try a.write("f", "of a")
    try a.run("sync")
    try b.write("stranger", "of b")
    try b.run("commit")
    try FolderFormat.files.send(b.store, folder)
    let elsewhere = directory.file("elsewhere")
    try FileSystem.makeDirectory(elsewhere)
    try FolderFormat.bundles.send(b.store, elsewhere)
    let name = try #require(try FileSystem.list("\(elsewhere)/bundles").first)
    try FileSystem.rename("\(elsewhere)/bundles/\(name)", to: "\(folder)/bundles/\(name)")
    let versions = try FileSystem.list("\(folder)/versions")
    try a.write("f", "of a again")
    #expect(try a.run("sync").text.contains("1 bundle there not encrypted"))
    #expect(try a.read("stranger") == nil)
    #expect(try FileSystem.list("\(folder)/versions") == versions)
    let list = try keys(a).list()
    #expect(list.text.contains("not encrypted, and not read: 1 bundle"), "\(list.text)")
  }

  @Test("what is there already cannot be encrypted, and a store cannot")
  func occupied() throws {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    try a.service.setPeer("away", address: Array(folder.utf8))
    try a.write("f", "x")
    try a.run("sync")
    let error = try #require(throws: ControlError.self) { try seal(a, "words") }
    #expect(error.kind == .exists)
    #expect(try !FileSystem.exists("\(folder)/keys"))
    #expect(throws: ControlError.self) { try keys(a, b.store.path) }
  }

  @Test("of two stores that began at once each gets the other's key with the passphrase")
  func atOnce() throws {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let ring = KeyRing(
      DirectoryStore(path: folder, scratch: ".x", control: TransferControl()), peer: "away",
      place: folder, store: b.store)
    try seal(a, "words")
    // It listed before the other's key was there.
    try ring.create(
      label: "two", passphrase: Array("words".utf8), strength: .init(passes: 1, kibibytes: 8192))
    try b.run("set away.encrypt=on")
    try b.service.setPeer("away", address: Array(folder.utf8))
    try a.write("a", "of a")
    try a.run("sync")
    try b.write("b", "of b")
    let error = try #require(throws: ControlError.self) { try b.run("sync") }
    #expect(error.message.contains("llvs key open away"), "\(error.message)")
    for space in [a, b] { _ = try keys(space).open(label: "x") { _ in Array("words".utf8) } }
    try b.run("retrieve")
    try b.run("merge all unrelated")
    try b.run("sync")
    try a.run("sync")
    #expect(try a.read("b") == "of b")
  }

  @Test(
    "after a rotation what is new is encrypted with the new key, and old passphrases get no further"
  )
  func rotation() throws {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    try seal(a, "words")
    try seal(b, "words")
    try a.write("f", "1")
    try a.run("sync")
    try b.run("sync")
    let rotated = try keys(a).rotate(label: "one") { _ in Array("new words".utf8) }
    #expect(rotated.text.contains("llvs key open away"))
    try a.write("f", "2")
    try a.run("sync")
    #expect(try b.run("sync").text.contains("llvs key open"))
    #expect(try b.read("f") == "1")
    #expect(throws: ControlError.self) { try keys(b).open(label: "x") { _ in Array("words".utf8) } }
    _ = try keys(b).open(label: "x") { _ in Array("new words".utf8) }
    try b.run("sync")
    #expect(try b.read("f") == "2")
    // A store that comes later reads what either key encrypts.
    let c = try ControlWorkspace()
    try seal(c, "new words")
    try c.run("sync")
    #expect(try c.read("f") == "2")
    let list = try keys(c).list().text
    #expect(list.split(separator: "\n").count == 3 && list.contains("encrypts what is new"))
    // A second passphrase, and one that is taken away.
    _ = try keys(c).add(label: "two") { _ in Array("second".utf8) }
    #expect(throws: ControlError.self) {
      try keys(c).add(label: "two") { _ in Array("third".utf8) }
    }
    _ = try keys(b).open(label: "x") { _ in Array("second".utf8) }
    _ = try keys(b).remove(label: "two")
    #expect(throws: ControlError.self) { try keys(b).remove(label: "one") }
  }

  @Test("the keys of one place encrypt nothing at another")
  func moved() throws {
    let a = try ControlWorkspace()
    try seal(a, "words")
    try a.write("f", "1")
    try a.run("sync")
    let other = directory.file("other")
    try FileSystem.makeDirectory(other)
    try a.service.setPeer("away", address: Array(other.utf8))
    let error = try failure(a, "sync")
    #expect(error.kind == .notPermitted && error.message.contains("llvs key open away"))
    #expect(try FileSystem.list(other).isEmpty)
    // Who removes the peer has to say again that it is encrypted.
    try a.service.removePeer("away")
    try a.service.setPeer("away", address: Array("bundle+\(folder)".utf8))
    #expect(try failure(a, "sync").message.contains("--encrypt"))
  }
}
