import Documents
import Foundation
import KeyValueCRDT
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

/// Documents of stores that were set back, of plain LLVS, and of several stores.
@Suite("Documents and the histories of stores", .timeLimit(.minutes(2)))
struct DocumentHistoryTests {
  @Test(
    "what a store wrote before it was set back is not taken for replaced", arguments: [true, false])
  func setBack(isLaterKnown: Bool) throws {
    let place = try DocumentPlace()
    try place.write("note", "one")
    try place.send("a.kvcrdt")
    try place.keepStore()
    let replica = place.store.replicaID
    try place.write("note", "lost")
    try place.send("a.kvcrdt")
    try place.setStoreBack()
    #expect(place.store.replicaID == replica)
    if isLaterKnown {
      try place.write("other", "two")
      try place.write("other", "three")
    }
    let before = try place.rows("a.kvcrdt")
    for _ in 0..<2 {
      #expect { try place.retrieve("a.kvcrdt") } throws: { error in
        if case StoreError.malformed(let text)? = error as? StoreError {
          text.contains("set replica=new")
        } else {
          false
        }
      }
      #expect(throws: StoreError.self) { try place.send("a.kvcrdt") }
    }
    #expect(try place.rows("a.kvcrdt") == before)
    #expect(try place.store.renewReplica() == place.store.replicaID)
    #expect(place.store.replicaID != replica)
    try place.retrieve("a.kvcrdt")
    try place.send("a.kvcrdt")
    let app = try place.database("a.kvcrdt")
    let open = Set(try app.read(key: "note").map(\.value))
    // The number of the write that the store lost says nothing any more, so people have to decide.
    #expect(open == (isLaterKnown ? [.text("one"), .text("lost")] : [.text("lost")]))
    #expect(try app.read(key: "other").map(\.value) == (isLaterKnown ? [.text("three")] : []))
    try place.write("note", "four")
    try place.send("a.kvcrdt")
    #expect(try place.database("a.kvcrdt").read(key: "note").map(\.value) == [.text("four")])
  }

  @Test("an older copy of a document, and another store's, are no sign of a store set back")
  func notSetBack() throws {
    let (place, other) = (try DocumentPlace(), try DocumentPlace())
    try other.write("note", "zero")
    try other.send("b.kvcrdt")
    try FileSystem.replace(
      place.path("a.kvcrdt"),
      with: try FileSystem.read(other.path("b.kvcrdt"), atMost: 1 << 20))
    try place.retrieve("a.kvcrdt")
    try place.write("note", "one")
    try place.send("a.kvcrdt")
    let old = try FileSystem.read(place.path("a.kvcrdt"), atMost: 1 << 20)
    try place.write("note", "two")
    try place.send("a.kvcrdt")
    for bytes in [old, try FileSystem.read(other.path("b.kvcrdt"), atMost: 1 << 20)] {
      try FileSystem.replace(place.path("a.kvcrdt"), with: bytes)
      try place.retrieve("a.kvcrdt")
      try place.send("a.kvcrdt")
      #expect(try place.database("a.kvcrdt").read(key: "note").map(\.value) == [.text("two")])
    }
  }

  /// Gives a store what plain LLVS made: versions that each write a value, and have no writer.
  private func fill(_ place: DocumentPlace, _ count: Int) throws {
    let old = try DocumentPlace()
    for index in 0..<count { try old.write("note\(index)", "\(index)") }
    let folder = place.path("folder")
    try FileSystem.makeDirectory(folder)
    let control = ExchangeControl()
    try FolderFormat.files.send(old.store, folder, control)
    _ = try shell(
      """
      python3 - <<'SCRIPT'
      import json, glob
      def without(value):
        if isinstance(value, dict):
          return {k: without(v) for k, v in value.items() if k != 'llvs.writer'}
        if isinstance(value, list):
          if 'llvs.writer' in value:
            at = value.index('llvs.writer')
            value = value[:at] + value[at + 2:]
          return [without(v) for v in value]
        return value
      for name in glob.glob('folder/versions/*'):
        whole = json.load(open(name))
        json.dump(without(whole), open(name, 'w'))
      SCRIPT
      """, in: place.directory.path)
    let report = try FolderFormat.files.retrieve(into: place.store, folder, control)
    #expect(report.taken.count == count)
    place.head = VersionNumber(place.store.lastNumber)
    let newest = try #require(try place.head.flatMap { try place.store.version($0) })
    let metadata = try place.store.metadata(of: newest)
    #expect(metadata[.writer] == nil)
  }

  @Test(
    "values of many versions without a writer get one author in a new document",
    arguments: [(500, 500), (501, 1)])
  func manyWriters(versions: Int, authors: Int) throws {
    let place = try DocumentPlace()
    try fill(place, versions)
    #expect(try place.mustRewriteFirst() == (authors == 1))
    try place.retrieve("a.kvcrdt")
    #expect(place.store.lastNumber == UInt32(versions + (authors == 1 ? 1 : 0)))
    let export = try place.send("a.kvcrdt")
    #expect(export.values.count == versions)
    #expect(try place.database("a.kvcrdt").authors.count == authors)
    #expect(try place.send("a.kvcrdt").isEmpty)
  }

  @Test("a document without values is taken once, and once again where it knows more")
  func withoutValues() throws {
    let place = try DocumentPlace()
    for key in ["one", "two", "three", "four", "five", "six"] {
      let app = try place.database("a.kvcrdt")
      _ = try app.writeText("value", to: key)
      _ = try app.delete(key: key)
      try place.retrieve("a.kvcrdt")
      let count = place.store.lastNumber
      try place.retrieve("a.kvcrdt")
      #expect(place.store.lastNumber == count)
      #expect(try place.send("a.kvcrdt").isEmpty)
    }
  }

  @Test("two stores with one head write equal rows, and a second exchange of both writes nothing")
  func twoStores() throws {
    let (one, two) = (try DocumentPlace(), try DocumentPlace())
    let app = try one.database("a.kvcrdt")
    _ = try app.writeText("one", to: "note", scope: "list")
    _ = try app.writeBlob(Data([1, 2]), to: "bytes", mimeType: "image/png")
    try one.retrieve("a.kvcrdt")
    try one.write("mine", "two")
    try one.write("mine", nil)
    _ = try two.store.retrieve(from: StoreSource(one.store))
    let id = try #require(try one.head.map { try one.store.graph.node($0).id })
    two.head = try #require(try two.store.version(id)).number
    try one.send("new.kvcrdt")
    try two.send("new.kvcrdt")
    #expect(try one.rows("new.kvcrdt") == two.rows("new.kvcrdt"))
    // Both with one document.
    try FileSystem.replace(
      two.path("a.kvcrdt"), with: try FileSystem.read(one.path("new.kvcrdt"), atMost: 1 << 20))
    let counts = [one.store.lastNumber, two.store.lastNumber]
    for place in [one, two, one, two] {
      try FileSystem.replace(
        place.path("b.kvcrdt"), with: try FileSystem.read(two.path("a.kvcrdt"), atMost: 1 << 20))
      try place.retrieve("b.kvcrdt")
      #expect(try place.send("b.kvcrdt").isEmpty)
    }
    #expect([one.store.lastNumber, two.store.lastNumber] == counts)
  }
}
