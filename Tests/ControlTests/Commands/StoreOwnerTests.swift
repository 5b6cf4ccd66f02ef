import LLVSCore
import LLVSExchange
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import Control
@testable import Grammar
@testable import TreeSupport
@testable import WorkingTree

/// A store that belongs to another user chooses no programs for whoever opens it.
@Suite(
  .timeLimit(.minutes(2)),
  .enabled(if: SystemProcess.effectiveUser == 0, "only root can give files away"))
struct StoreOwnerTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("store") }
  private static let stranger: UInt32 = 54_321

  init() throws {
    directory = try TemporaryDirectory()
    _ = try Store.open(path: path, mode: .writer, create: true)
  }

  private func run(_ line: String, _ service: ControlService) throws {
    var script = try ControlScript(Array(line.utf8))
    _ = try service.run(try #require(try script.next()))
  }

  private func opened(_ body: (ControlService) throws -> Void) throws {
    try body(try ControlService.open(try Store.open(path: path, mode: .writer)))
  }

  @Test("A command that runs when something happens is not in force there either")
  func hooks() throws {
    let mark = directory.file("mark")
    try opened { service in
      try run("set 'on-version=touch \(mark)' on-sync=true on-conflict=true", service)
    }
    try FileSystem.setOwner(Array(path.utf8), uid: Self.stranger, gid: Self.stranger)
    try opened { service in
      #expect(service.settings.withheld == [.onVersion, .onConflict, .onSync])
      try run("branch other", service)
      service.hooks.drain()
      #expect(try !FileSystem.exists(mark))
      try run("set 'on-version=touch \(mark)'", service)
      try run("branch another", service)
      service.hooks.drain()
      #expect(try FileSystem.exists(mark))
    }
  }

  @Test("A peer of it runs no command, and gets none of the keys of whoever opens it")
  func secrets() throws {
    let mark = directory.file("mark")
    let secrets = "\(path)/secrets"
    let lines = "command=touch \(mark); echo access_key=a; echo secret_key=s\n"
    try FileSystem.makeDirectory(secrets, permissions: 0o700)
    try FileSystem.replace("\(secrets)/far", with: Array(lines.utf8), permissions: 0o600)
    try FileSystem.replace("\(secrets)/far:keys", with: Array("at x\n".utf8), permissions: 0o600)
    func open() throws -> String? {
      let store = try Store.open(path: path, mode: .writer)
      let opening = PeerOpening(name: "far", store: store, transfer: TransferControl())
      do throws(RemoteError) {
        _ = try PeerOpener.connector(
          try RemoteAddress("s3+http://127.0.0.1:9/bucket"), opening
        ).open()
        return nil
      } catch {
        return error.words
      }
    }
    #expect(try open() == nil)
    #expect(try FileSystem.exists(mark))
    try FileSystem.unlink(mark)
    for file in ["/secrets/far", "/secrets/far:keys", ""] {
      try FileSystem.setOwner(
        Array((path + file).utf8), uid: Self.stranger, gid: Self.stranger)
      #expect(try open()?.contains("is not used, because") == true)
      #expect(try !FileSystem.exists(mark))
    }
    // The keys are the owner's own; a link to another user's would not be read.
    let store = try Store.open(path: path, mode: .writer)
    _ = try KeyRing.held(peer: "far", place: "x", store: store)
    try FileSystem.setOwner(Array("\(secrets)/far:keys".utf8), uid: 0, gid: 0)
    #expect(throws: StoreError.self) {
      try KeyRing.held(peer: "far", place: "x", store: store)
    }
  }

  @Test("A directory, a store and a document are no peers of it: its owner might not reach them")
  func directories() throws {
    let folder = directory.file("folder")
    try FileSystem.makeDirectory(folder)
    let other = directory.file("other")
    _ = try Store.open(path: other, mode: .writer, create: true)
    func open(_ address: String) throws {
      let store = try Store.open(path: path, mode: .writer)
      let opening = PeerOpening(name: "near", store: store, transfer: TransferControl())
      _ = try PeerOpener.standard.open(try PeerAddress(Array(address.utf8)), opening)
    }
    let addresses = [folder, "bundle+\(folder)", other, "kvcrdt:\(folder)/x.kvcrdt#notes"]
    for address in addresses { try open(address) }
    try FileSystem.setOwner(Array(path.utf8), uid: Self.stranger, gid: Self.stranger)
    for address in addresses {
      let error = #expect(throws: ControlError.self) { try open(address) }
      #expect(error?.kind == .notPermitted && error?.message.contains("is not used") == true)
    }
  }

  @Test(
    "What runs programs is not in force there, is named, and is once it is set again",
    arguments: ["", "/store.sqlite"])
  func stranger(part: String) throws {
    try opened { service in
      try run("set 'arbiter=*.txt:text,exec touch it' mergetool=touch author=me", service)
      #expect(service.settings.arbiters.count == 2 && service.settings.withheld == [])
      #expect(!(try service.status().text.contains("withheld")))
    }
    try FileSystem.setOwner(Array((path + part).utf8), uid: Self.stranger, gid: Self.stranger)
    try opened { service in
      #expect(service.settings.arbiters.map(\.text) == ["*.txt:text"])
      #expect(service.tree.storeSettings.arbiters.count == 1)
      #expect(service.settings.mergetool.isEmpty && service.settings.author == "me")
      #expect(service.settings.withheld == [.arbiter, .mergetool])
      #expect(try service.status().text.contains("withheld  arbiter, mergetool: "))
      let log = String(
        decoding: try FileSystem.read(path + "/log", atMost: 1 << 16), as: UTF8.self)
      #expect(log.contains("arbiter runs programs, and the store belongs to user 54321"))
      // Another one is no word about it, and neither is another value.
      try run("set author=you", service)
      try run("set mergetool=other", service)
      #expect(service.settings.withheld == [.arbiter])
      try run("set 'arbiter=exec touch it'", service)
      #expect(service.settings.arbiters.count == 1 && service.settings.withheld == [])
      #expect(service.tree.storeSettings.arbiters.count == 1)
    }
    // The row says nothing of who wrote it.
    try opened { #expect($0.settings.withheld == [.arbiter, .mergetool]) }
    try FileSystem.setOwner(Array((path + part).utf8), uid: 0, gid: 0)
    try opened { #expect($0.settings.withheld == [] && $0.settings.arbiters.count == 1) }
  }
}
