import Documents
import Foundation
import KeyValueCRDT
import LLVSCore
import Platform
import TestSupport
import Testing

/// Files that the original library wrote: those of the library's tests, or those of the directory that
/// `LLVS_TEST_FIXTURES` names.
@Suite("Documents of the original", .timeLimit(.minutes(2)))
struct DocumentFixtureTests {
  private static let folder: String =
    ProcessInfo.processInfo.environment["LLVS_TEST_FIXTURES"]
    ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../KeyValueCRDTTests/Resources/kvcrdt").standardized.path

  static let names: [String] =
    (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? [])
    .filter { $0.hasSuffix(".kvcrdt") }.sorted()

  @Test("there are some")
  func some() { #expect(Self.names.count >= 10) }

  @Test("have the same rows after they are imported and exported again", arguments: names)
  func roundTrip(name: String) throws {
    let place = try DocumentPlace()
    let bytes = try FileSystem.read("\(Self.folder)/\(name)", atMost: 64 << 20)
    try FileSystem.replace(place.path("a.kvcrdt"), with: bytes)
    // Equal values would be written anew, so that an application meets no conflict.
    try place.retrieve("a.kvcrdt", news: true)
    #expect(try FileSystem.read(place.path("a.kvcrdt"), atMost: 64 << 20) == bytes)
    let rows = try place.rows("a.kvcrdt")
    try place.send("new.kvcrdt")
    #expect(try place.rows("new.kvcrdt") == rows)
    #expect(try place.database("new.kvcrdt").verify().isEmpty)
    #expect(try place.send("a.kvcrdt").isEmpty)
  }
}
