import Grammar
import LLVSCore
import LLVSExchange
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Control

/// Places that can and that cannot be peers.
extension ControlExchangeTests {
  @Test("another store is a peer")
  func store() throws {
    let (a, b, _) = try pair()
    try a.service.setPeer("b", address: Array(b.store.path.utf8))
    try b.write("b", "of b")
    try b.run("commit")
    #expect(try a.run("retrieve b").text == "b: 1 retrieved; 1 head to merge")
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
      for prefix in ["", "bundle+"] {
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
    try a.service.setPeer("p", address: Array("\(a.directory.path)\n".utf8))
    try a.run("sync")
    #expect(try FileSystem.exists(a.directory.file("versions")))
    _ = other
  }

  @Test("a peer that is not there is named, and the others are served")
  func absent() throws {
    let (a, b, _) = try pair()
    try a.service.setPeer("gone", address: Array("/nowhere/at/all".utf8))
    try a.write("a", "one")
    #expect(try a.failure("sync") == .unreachable)
    #expect(try a.service.status().text.contains("/nowhere/at/all is not there"))
    try b.run("sync")
    #expect(try b.read("a") == "one")
  }
}
