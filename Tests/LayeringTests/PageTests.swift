import Foundation
import Testing

// The pages name files, tests, variables and numbers of formats: these stay true.

@Test("Every file, script and suite of tests that a page names is there")
func pagesNameFilesThatAreThere() throws {
  // The guide's patterns of names, and the manifest, which is not among the sources.
  var names: Set = ["Type.swift", "Type+Concern.swift", "Package.swift"]
  names.formUnion(Repository.sources().map(\.name))
  let scripts = Set(
    try FileManager.default.contentsOfDirectory(
      atPath: Repository.root.appendingPathComponent("mount-scripts").path))
  var pages = Repository.pages()
  pages["CONTRIBUTING.md"] = try Repository.text(".github/CONTRIBUTING.md")
  for (page, text) in pages {
    for match in text.matches(of: #/`([A-Z][A-Za-z]+Tests)`/#) {
      #expect(names.contains("\(match.1).swift"), "\(page): there are no \(match.1)")
    }
    for match in text.matches(of: #/`(?:[A-Za-z]+\/)*([A-Za-z+]+\.swift)`/#) {
      #expect(names.contains(String(match.1)), "\(page): there is no \(match.1)")
    }
    for match in text.matches(of: #/mount-scripts\/([a-z-]+)/#) {
      #expect(scripts.contains(String(match.1)), "\(page): there is no mount-scripts/\(match.1)")
    }
  }
}

@Test("The page about testing lists every variable that tests read, and no other")
func variablesAreListed() throws {
  let page = try #require(Repository.pages()["testing.md"])
  func variables(_ text: String) -> Set<String> {
    Set(text.matches(of: #/LLVS_TEST_[A-Z_]+/#).map { String($0.0) })
  }
  let tests = Repository.files(below: "Tests") { $0.pathExtension == "swift" }
    .filter { $0.name != "PageTests.swift" }
  let read = tests.reduce(into: Set<String>()) { $0.formUnion(variables($1.text)) }
  #expect(read.count > 10, "the tests were not found")
  let listed = variables(page)
  #expect(read.subtracting(listed).isEmpty, "tests read what the page does not list")
  #expect(listed.subtracting(read).isEmpty, "the page lists what no test reads")
}

/// A format's row in the table of docs/formats.md, and the line of code that has its number.
struct NumberedFormat: CustomTestStringConvertible {
  let row: String
  let file: String
  let line: String

  init(_ row: String, _ file: String, _ line: String) {
    self.row = row
    self.file = file
    self.line = line
  }

  var testDescription: String { row }
}

private let formats = [
  NumberedFormat("segment", "SegmentFormat.swift", "static let version: UInt8 = "),
  NumberedFormat("catalog", "Catalog.swift", "static let formatVersion: Int64 = "),
  NumberedFormat("index", "Index.swift", "static let formatVersion: Int64 = "),
  NumberedFormat("journal", "JournalFileHeader.swift", "static let format: UInt32 = "),
  NumberedFormat("tree.sqlite", "TreeDatabase.swift", "static let formatVersion: Int64 = "),
  NumberedFormat("node of a map", "MapNode.swift", "static let format: UInt8 = "),
  NumberedFormat("bundle", "BundleFormat.swift", "static let number: UInt8 = "),
]

@Test("The page about formats has the numbers that the code writes", arguments: formats)
func numbersAreThoseOfTheCode(format: NumberedFormat) throws {
  let page = try #require(Repository.pages()["formats.md"])
  let row = try #require(page.range(of: "| \(format.row) | "), "the page has no row for it")
  let told = page[row.upperBound...].prefix { $0.isNumber }
  let file = try #require(
    Repository.sources().first { $0.name == format.file }, "there is no \(format.file)")
  let line = try #require(
    file.text.range(of: format.line), "\(format.file) has no line \(format.line)")
  let written = file.text[line.upperBound...].prefix { $0.isNumber }
  #expect(!told.isEmpty && told == written)
}

@Test("The page about architecture tells of every module")
func modulesAreTold() throws {
  let page = try #require(Repository.pages()["architecture.md"])
  let sources = Repository.sources().filter { $0.path.hasPrefix("Sources/") }
  let modules = Set(
    sources.filter { $0.path.hasSuffix(".swift") }
      .map { String($0.path.split(separator: "/")[1]) })
  #expect(modules.count > 10, "the sources were not found")
  let told = Set(page.matches(of: #/(?m)^\| `([A-Za-z]+)` \|/#).map { String($0.1) })
  #expect(modules.subtracting(told).isEmpty, "the table leaves modules out")
}

@Test("The files that the page about architecture names for an invariant state it")
func invariantsAreStated() throws {
  let page = try #require(Repository.pages()["architecture.md"])
  let rows = page.matches(of: #/(?m)^\| ([A-Z]\d[A-Z\d, to]*) \| (`[^|]+`) \|/#)
  #expect(rows.count > 5, "the table was not found")
  let sources = Repository.sources()
  for row in rows {
    let files = row.2.matches(of: #/`([A-Za-z+]+\.swift)`/#).map { String($0.1) }
    let text = sources.filter { files.contains($0.name) }.map(\.text).joined()
    for name in row.1.matches(of: #/[A-Z]\d+/#) {
      #expect(text.contains("INVARIANT \(name.0)"), "\(name.0) is in none of \(files)")
    }
  }
}

@Test("Every suite that the quick tests leave out is there")
func slowSuitesAreThere() throws {
  let names = try Repository.text("mount-scripts/slow-suites").split(separator: "\n")
    .filter { !$0.hasPrefix("#") }
  #expect(names.count > 10, "the suites were not found")
  let tests = Repository.files(below: "Tests") { $0.pathExtension == "swift" }
  for name in names {
    let parts = name.split(separator: ".")
    let isThere = tests.contains { file in
      file.path.hasPrefix("Tests/\(parts[0])/")
        && ["struct", "class"].contains { file.text.contains("\($0) \(parts[1]) ") }
    }
    #expect(isThere, "there is no \(name)")
  }
}
