import Grammar
import LLVSCore
import LLVSExchange
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport

/// Places that can and that cannot be peers.
extension ControlExchangeTests {
  @Test("another store is a peer")
  func store() throws {
    let (a, b, _) = try pair()
    try a.service.setPeer("b", address: Array(b.store.path.utf8))
    try b.write("b", "of b")
    try b.run("commit")
    #expect(try a.run("retrieve b").text == "b: received 1 version\n1 head to merge")
    #expect(try a.read("b") == nil)
    try a.run("merge")
    #expect(try a.read("b") == "of b")
    #expect(try a.failure("send b") == .busy)
    #expect(throws: ControlError.self) {
      try a.service.setPeer("c", address: Array("relative/path".utf8))
    }
  }

  @Test("a folder among a store's own files is no peer, whatever leads there; one around stores is")
  func insideStore() throws {
    let a = try ControlWorkspace()
    try a.write("f", "x")
    let other = try Store.open(path: a.directory.file("other"), mode: .writer, create: true)
    try FileSystem.symlink("store/journal", at: a.directory.file("link"))
    let places = [
      "store/segments", "link", "other/segments", "link/../segments/../journal/", "store/./journal",
    ]
    for place in places {
      for prefix in ["", "bundle+", "plain+"] {
        try a.service.setPeer("p", address: Array("\(prefix)\(a.directory.path)/\(place)\n".utf8))
        let error = try #require(throws: ControlError.self) { try a.run("sync") }
        #expect(error.kind == .grammar, "\(place)")
        #expect(
          error.message.contains(place.hasPrefix("other") ? "/other" : "this store"), "\(error)")
      }
    }
    for directory in ["store/segments", "store/journal", "other/segments"] {
      let names = try FileSystem.list(a.directory.file(directory))
      #expect(!names.contains { ["versions", "changes", "bundles"].contains($0) }, "\(names)")
    }
    // A folder around stores holds other things, and is taken when its user says so.
    try a.service.setPeer("p", address: Array("\(a.directory.path)\n".utf8))
    #expect(try a.failure("sync") == .exists)
    #expect(try !FileSystem.exists(a.directory.file("bundles")))
    try a.run("peer p --force")
    try a.run("sync")
    #expect(try FileSystem.exists(a.directory.file("bundles")))
    _ = other
  }

  @Test("a peer that is not there is named, and the others are served")
  func absent() throws {
    let (a, b, _) = try pair()
    try a.service.setPeer("gone", address: Array("/nowhere/at/all".utf8))
    try a.write("a", "one")
    #expect(try a.run("sync").text.hasSuffix("gone is away: /nowhere/at/all is not there"))
    #expect(try a.failure("sync gone") == .unreachable)
    #expect(try a.service.status().text.contains("/nowhere/at/all is not there"))
    try b.run("sync")
    #expect(try b.read("a") == "one")
  }

  @Test("a peer that answers late holds up no other")
  func late() throws {
    let gate = Monitor(false)
    let space = try workspace(behind: gate) { (_, _) throws(ControlError) in
      throw ControlError(.unreachable, "too late")
    }
    try space.service.setPeer("late", address: Array("/x".utf8))
    let told = try sync(space, "bundle", opening: gate)
    #expect(
      told.hasSuffix("\nprompt: received nothing, sent 1 version\nlate is away: too late"),
      "\(told)")
  }

  @Test(
    "what a late peer brings reaches the others in the same sync", arguments: ["bundle", "plain"])
  func lateChange(form: String) throws {
    let gate = Monitor(true)
    let space = try workspace(behind: gate) { (address, opening) throws(ControlError) in
      try PeerOpener.standard.open(address, opening)
    }
    let other = try ControlWorkspace()
    let place = space.directory.file("late")
    try FileSystem.makeDirectory(place)
    try space.service.setPeer("late", address: Array(place.utf8))
    try other.service.setPeer("hub", address: Array(place.utf8))
    try space.write("a", "zero")
    try space.run("sync")
    try other.run("sync")
    try other.write("b", "of another")
    try other.run("sync")
    gate.withLock { $0 = false }
    let told = try sync(space, form, opening: gate)
    #expect(told.contains("\nprompt: received nothing, sent 4 versions\n"), "\(told)")
    let third = try ControlWorkspace()
    try third.service.setPeer("prompt", address: Array(space.directory.file("prompt").utf8))
    try third.run("sync")
    #expect(try third.read("b") == "of another")
  }

  /// Returns a workspace that opens the peer `late` once a gate is open.
  private func workspace(
    behind gate: Monitor<Bool>,
    _ open:
      @escaping @Sendable (PeerAddress, PeerOpening) throws(ControlError) -> any RemoteLayout
  ) throws -> ControlWorkspace {
    try ControlWorkspace(
      opener: PeerOpener { (address, opening) throws(ControlError) in
        guard opening.name == "late" else { return try PeerOpener.standard.open(address, opening) }
        _ = gate.wait(nanoseconds: 60_000_000_000) { $0 ? true : nil }
        return try open(address, opening)
      })
  }

  /// Syncs a change with a new peer `prompt`, and opens the gate once that peer has it.
  ///
  /// - Returns: the text of the reply.
  private func sync(
    _ space: ControlWorkspace, _ form: String, opening gate: Monitor<Bool>
  ) throws -> String {
    let folder = space.directory.file("prompt")
    try FileSystem.makeDirectory(folder)
    try space.service.setPeer("prompt", address: Array("\(form)+\(folder)".utf8))
    try space.write("a", "one")
    let text = Monitor<String?>(nil)
    let seen = Monitor<Set<String>>([])
    let context = CommandContext(progress: { now in seen.withLock { _ = $0.insert(now.what) } })
    WorkerPool(name: "sync").run {
      let told = (try? space.service.run(SyncCommand(), context: context).text) ?? "failed"
      text.withLock { $0 = told }
      text.broadcast()
    }
    let sent = folder + (form == "plain" ? "/versions" : "/bundles")
    #expect(try eventually(seconds: 30) { try FileSystem.exists(sent) })
    #expect(text.withLock { $0 } == nil)
    #expect(eventually(seconds: 30) { seen.withLock { $0.contains("waiting for late") } })
    gate.withLock { $0 = true }
    gate.broadcast()
    return try #require(text.wait(nanoseconds: 30_000_000_000) { $0 })
  }

  @Test("autosync leaves a peer that did not answer in time alone for a pause that grows")
  func silent() throws {
    let asked = Monitor(0)
    let space = try ControlWorkspace(
      opener: PeerOpener { (_, _) throws(ControlError) in
        asked.withLock { $0 += 1 }
        throw ControlError(.timedOut, "nothing came")
      })
    try space.service.setPeer("p", address: Array("/x".utf8))
    let automatic = CommandContext(isAutomatic: true)
    for _ in 0..<3 { try space.service.run(SyncCommand(), context: automatic) }
    #expect(asked.withLock { $0 } == 1)
    // A person does not wait.
    try space.run("sync")
    #expect(asked.withLock { $0 } == 2)
    let minute: UInt64 = 60_000_000_000
    let peer = Peer(name: "p", address: [])
    var silent = SilentPeers()
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] as [UInt64] {
      silent.noteSilence(of: "p", now: 5)
      #expect(silent.without([peer], now: 4 + pause * minute).isEmpty)
      #expect(silent.without([peer], now: 5 + pause * minute) == [peer])
    }
    silent.noteAnswer(of: "p")
    #expect(silent.without([peer], now: 6) == [peer])
  }

  @Test("four peers are served at once, and the reply names them in their order")
  func severalAtOnce() throws {
    let serving = Monitor((now: 0, most: 0))
    let space = try ControlWorkspace(
      opener: PeerOpener { (_, _) throws(ControlError) in Crowded(serving: serving) })
    let names = (0..<6).map { "p\($0)" }
    for name in names { try space.service.setPeer(name, address: Array("/x/\(name)".utf8)) }
    let told = try space.run("exchange").reply.json
    #expect(serving.withLock { $0.most } == 4)
    let order = names.map { told.firstRange(of: "\"peer\":\"\($0)\"")?.lowerBound }
    #expect(!order.contains(nil) && order.compactMap { $0 }.sorted() == order.compactMap { $0 })
  }

  @Test("where all peers are away a sync is done, and an exchange is none")
  func allAway() throws {
    let a = try ControlWorkspace()
    try a.service.setPeer("gone", address: Array("/nowhere/at/all".utf8))
    try a.write("a", "one")
    #expect(try a.run("sync").text.contains("1 new: a\ngone is away: "))
    #expect(try a.failure("exchange") == .unreachable)
  }

  @Test("a failure says what was done, in words and for programs")
  func failure() throws {
    let (a, _, _) = try pair()
    try a.service.setPeer("wrong", address: Array(a.store.path.utf8))
    try a.write("a", "one")
    let error = try #require(throws: ControlError.self) { try a.run("sync") }
    #expect(error.kind == .grammar && error.message.hasPrefix("wrong: "))
    let done = try #require(error.done)
    #expect(done.text.contains("1 new: a\nusb: received nothing, sent 1 version"), "\(done.text)")
    #expect(
      error.reply.json.contains(#""ok":false"#)
        && error.reply.json.contains(#""peer":"usb","state":"ok""#))
    #expect(error.reply.json.contains(#""peer":"wrong","state":"failed""#))
  }

  @Test(
    "a place that had versions and shows none is left alone until it is said to be another",
    arguments: ["plain+", "bundle+"])
  func emptyPlace(form: String) throws {
    let (a, _, folder) = try pair(form)
    for name in ["one", "two"] {
      try a.write(name, name)
      try a.run("sync")
    }
    try FileSystem.rename(folder, to: "\(folder).away")
    try FileSystem.makeDirectory(folder)
    try a.write("three", "three")
    let text = try a.run("sync").text
    #expect(text.contains("usb is away: \(folder) holds none of the 2 versions"), "\(text)")
    for command in ["sync usb", "send", "exchange usb", "verify usb", "verify usb --repair"] {
      #expect(try a.failure(command) == .unreachable, "\(command)")
    }
    #expect(try FileSystem.list(folder).isEmpty)
    // The stick is plugged in again.
    try FileSystem.removeDirectory(folder)
    try FileSystem.rename("\(folder).away", to: folder)
    #expect(try a.run("sync usb").text.hasSuffix("usb: received nothing, sent 1 version"))
    try FileSystem.removeTree(folder)
    try FileSystem.makeDirectory(folder)
    try a.run("peer usb --reset")
    #expect(try a.run("sync usb").text.hasSuffix("usb: received nothing, sent 3 versions"))
  }

  @Test(
    "a place that holds other things is refused until it is forced",
    arguments: ["letter.txt", ".bashrc"])
  func occupied(name: String) throws {
    let (a, _, folder) = try pair()
    try a.write("a", "one")
    for own in [".stfolder", ".DS_Store"] {
      try FileSystem.replace("\(folder)/\(own)", with: Array("x".utf8))
    }
    try FileSystem.replace("\(folder)/\(name)", with: Array("dear".utf8))
    for command in ["sync", "verify usb --repair"] { #expect(try a.failure(command) == .exists) }
    #expect(try !FileSystem.exists("\(folder)/bundles"))
    try FileSystem.unlink("\(folder)/\(name)")
    try a.run("sync")
    try FileSystem.removeTree("\(folder)/bundles")
    try a.run("peer usb --reset")
    try FileSystem.replace("\(folder)/\(name)", with: Array("dear".utf8))
    try a.run("peer usb --force")
    try a.run("sync")
    #expect(try FileSystem.exists("\(folder)/bundles"))
  }

  @Test("a place that is made anew between retrieving and sending is not filled")
  func replacedBetween() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("folder")
    try FileSystem.makeDirectory(folder)
    let isArmed = Mutex(false)
    let opener = PeerOpener { (address, opening) throws(ControlError) in
      let layout = try PeerOpener.standard.open(address, opening)
      return isArmed.withLock { $0 } ? Replacing(layout: layout, folder: folder) : layout
    }
    let a = try ControlWorkspace(opener: opener)
    try a.service.setPeer("usb", address: Array(folder.utf8))
    try a.write("one", "one")
    try a.run("sync")
    isArmed.withLock { $0 = true }
    try a.write("two", "two")
    let error = try #require(throws: ControlError.self) { try a.run("sync") }
    #expect(error.message.contains("was removed or replaced"), "\(error)")
    #expect(error.done?.text.hasSuffix("1 new: two\nusb: received nothing") == true, "\(error)")
    #expect(try FileSystem.list(folder).isEmpty)
  }
}

/// A remote that answers once four are served.
private struct Crowded: RemoteLayout {
  let serving: Monitor<(now: Int, most: Int)>

  private func serve() -> ExchangeReport {
    serving.withLock { serving in
      serving.now += 1
      serving.most = max(serving.most, serving.now)
    }
    serving.broadcast()
    _ = serving.wait(nanoseconds: 20_000_000_000) { $0.most >= 4 ? true : nil }
    serving.withLock { $0.now -= 1 }
    return ExchangeReport()
  }

  func verify(for store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    serve()
  }

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport { serve() }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    serve()
  }
}

/// A remote in a directory that is replaced by an empty one after it was read.
private struct Replacing: RemoteLayout {
  func verify(for store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    ExchangeReport()
  }

  let layout: any RemoteLayout
  let folder: String

  func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    try layout.outline(for: store, control)
  }

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let report = try layout.retrieve(into: store, control)
    do throws(SystemError) {
      try FileSystem.rename(folder, to: "\(folder).away")
      try FileSystem.makeDirectory(folder)
    } catch {
      throw .system(error)
    }
    return report
  }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try layout.send(from: store, control)
  }
}
