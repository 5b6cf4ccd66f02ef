import Documents
import Foundation
import KeyValueCRDT
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing

/// A store and a directory for documents.
final class DocumentPlace {
  let directory: TemporaryDirectory
  private(set) var store: Store
  let values = DocumentDirectory(path: Array("notes".utf8))
  var head: VersionNumber?

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store.open(path: directory.file("store"), create: true)
  }

  func path(_ name: String) -> String { directory.file(name) }

  /// Keeps the store as it is now.
  func keepStore() throws {
    store.settle()
    _ = try shell("rm -rf kept; cp -a store kept", in: directory.path)
  }

  /// Sets the store back to what was kept, as a machine is under a program that has it open: it cannot see
  /// that.
  func setStoreBack() throws {
    let other = try Store.open(path: path("other"), create: true)
    store = other
    _ = try shell(
      """
      rm -f kept/lock; find store -mindepth 1 -maxdepth 1 ! -name lock -exec rm -r {} +
      cp -a kept/. store
      """, in: directory.path)
    store = try Store.open(path: path("store"), create: false)
    head = VersionNumber(store.lastNumber)
  }

  func database(_ name: String) throws -> KeyValueDatabase {
    try KeyValueDatabase(
      fileURL: URL(fileURLWithPath: path(name)), authorDescription: "an app")
  }

  private func sync(_ name: String) -> DocumentSync {
    DocumentSync(store, DocumentAddress(path: path(name), directory: values))
  }

  /// Takes what a document says, and what has to be written anew for it unless only `news` is wanted.
  func retrieve(_ name: String, news: Bool = false) throws {
    let document = try DocumentFile.open(path(name))?.snapshot() ?? .empty
    for round in 0..<10 where !news || round == 0 {
      let taken = try sync(name).take(document, at: head, line: nil, message: nil)
      guard let first = taken.versions.first else { return }
      try store.write { transaction throws(StoreError) in
        let live = self.head ?? first
        self.head =
          try transaction.mergeHeads(ofLine: nil, live: live) {
            MostRecentChangeClashArbiter(graph: $0)
          }.outcome ?? live
      }
    }
    if !news { Issue.record("\(name) is taken again and again") }
  }

  /// Returns true if values have to be written anew before a document is made.
  func mustRewriteFirst() throws -> Bool? {
    try sync("new.kvcrdt").outgoing(to: .empty, at: try #require(head))?.isRewriteFirst
  }

  @discardableResult
  func send(_ name: String) throws -> DocumentExport {
    let file = try DocumentFile.open(path(name))
    let document = try file?.snapshot() ?? .empty
    let outgoing = try sync(name).outgoing(to: document, at: try #require(head))
    #expect(outgoing?.isRewriteFirst == false)
    let export = try #require(outgoing).export
    let stamp = try file?.stamp ?? DocumentStamp(path: path(name))
    file?.close()
    let outcome = try DocumentWriter(path(name), store, authorName: "here").write(
      export, expecting: stamp)
    #expect(outcome == .done)
    return export
  }

  func write(_ path: String, _ text: String?) throws {
    let id = try head.map { try store.graph.node($0).id }
    let key = Value.ID("notes/\(path)")
    let version = try store.makeVersion(
      basedOnPredecessor: id,
      storing: [text.map { .insert(Value(id: key, data: Array($0.utf8))) } ?? .remove(key)])
    head = try store.version(version.id)?.number
  }

  /// The rows of a document, without the notes.
  func rows(_ name: String) throws -> [String] {
    let database = try SQLite.Database(
      path: path(name), mode: .readOnly, options: .document(patience: 1000))
    var rows: [String] = []
    try database.rows(
      """
      SELECT quote(scope), quote(key), quote(authorId), usn, timestamp, type, quote(text),
        quote(json), quote(blobMimeType), quote(blob) FROM entry ORDER BY 1, 2, 3
      """
    ) { row in rows.append((0..<10).map { row.text($0) }.joined(separator: "|")) }
    try database.rows("SELECT quote(id), usn FROM author ORDER BY 1") { row in
      rows.append("\(row.text(0)) \(row.integer(1))")
    }
    return rows
  }
}
