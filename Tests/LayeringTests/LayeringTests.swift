import Foundation
import Testing

/// The modules of ours that each module may import, and the sentence that says why no others.
///
/// The order is that of the layers: a module may import only modules that stand before it.
private let rules: [(module: String, imports: Set<String>, reason: String)] = [
  ("Platform", ["CShims"], "The system's calls know nothing of what they are called for."),
  ("SQLite", ["Platform", "CSQLite"], "A connection knows no table."),
  (
    "SQLiteSums", ["SQLite", "Platform", "CSQLite", "CXXHash"],
    "The checksums of pages are no part of the library for documents."
  ),
  (
    "KeyValueCRDT", ["SQLite", "Platform"],
    "The library for documents is of use alone, without stores and trees."
  ),
  (
    "ObjectStores", ["Platform", "CCrypto", "CCurl"],
    "A remote keeps objects by name and knows nothing of versions."
  ),
  (
    "LLVSCore", ["Platform", "SQLite", "CZstd", "CCrypto", "CXXHash"],
    "The store knows neither remotes nor file systems."
  ),
  (
    "Documents", ["LLVSCore", "KeyValueCRDT", "SQLite", "Platform"],
    "A version is compared with a document without a tree at hand."
  ),
  (
    "LLVSExchange", ["ObjectStores", "LLVSCore", "Platform", "CSodium"],
    "Exchanging needs a store, and places for objects, and no tree."
  ),
  ("LLVSUtilities", [], "The small tools of the original are of use alone."),
  (
    "LLVS",
    ["LLVSUtilities", "LLVSExchange", "LLVSCore", "ObjectStores", "SQLite", "Platform", "CZlib"],
    "The public library is a thin face of the engine."
  ),
  ("LLVSModelMacros", [], "The compiler runs macros as a program of their own."),
  ("LLVSModel", ["LLVS"], "Models are stored as any program stores its values."),
  ("LLVSSQLite", ["LLVS"], "It gives programs of the original their import."),
  (
    "LLVSProjection", ["LLVS", "LLVSModel"],
    "Tables are made from what any program can read."
  ),
  (
    "FuseSession", ["Platform", "CShims", "CFuseShims", "CFuse3"],
    "A session knows nothing of stores."
  ),
  ("TreeNames", ["LLVSCore", "Platform"], "Names and keys need no tree in memory."),
  ("Inodes", ["LLVSCore", "Platform"], "A tree of inodes knows no version and no key."),
  (
    "Grammar", ["TreeNames", "LLVSCore", "Platform"],
    "Words and settings are read without a tree or a command at hand."
  ),
  (
    "Search", ["TreeNames", "LLVSCore", "SQLiteSums", "SQLite", "Platform"],
    "An index of words follows from versions and is part of none."
  ),
  (
    "Events", ["Grammar", "TreeNames", "LLVSCore", "Platform"],
    "A store's log is written and read without a tree at hand."
  ),
  (
    "WorkingTree",
    [
      "Events", "Grammar", "Inodes", "TreeNames", "SQLiteSums", "SQLite", "LLVSCore", "Platform",
    ],
    "The tree that programs edit knows neither the kernel nor commands."
  ),
  (
    "HistoryTree",
    ["WorkingTree", "Events", "Grammar", "TreeNames", "Inodes", "LLVSCore", "Platform"],
    "`.llvs` asks for commands through closures that it is given."
  ),
  (
    "Control",
    [
      "Documents", "HistoryTree", "WorkingTree", "Events", "Grammar", "TreeNames", "Inodes",
      "LLVSExchange",
      "LLVSCore", "ObjectStores", "Search", "Platform",
    ],
    "Commands work on a tree that nobody need have mounted."
  ),
  (
    "LLVSMount",
    [
      "Control", "HistoryTree", "WorkingTree", "Events", "Grammar", "TreeNames", "Inodes",
      "FuseSession",
      "LLVSExchange", "LLVSCore", "ObjectStores", "Platform",
    ], "Only the mount knows both the kernel and the tree."
  ),
  (
    "Reports",
    [
      "HistoryTree", "WorkingTree", "Events", "Grammar", "TreeNames", "Inodes", "LLVSCore",
      "Platform",
      "CZlib",
    ],
    "What a log or a difference says is found without a terminal to print it on."
  ),
  (
    "Web",
    [
      "Reports", "Control", "HistoryTree", "WorkingTree", "Events", "Grammar", "TreeNames",
      "LLVSCore",
      "Platform", "CMicrohttpd",
    ], "The page is served without a terminal, and runs commands through functions it is given."
  ),
  (
    "LLVSTool",
    [
      "Web", "Reports", "LLVSMount", "Control", "Documents", "HistoryTree", "WorkingTree", "Events",
      "Grammar", "TreeNames", "FuseSession", "LLVS", "LLVSExchange", "LLVSCore", "ObjectStores",
      "KeyValueCRDT", "Inodes", "Search", "Platform",
    ], "The tool is above everything that it runs."
  ),
  ("llvs", ["LLVSTool", "Platform"], "The program is the tool's entry and nothing else."),
  (
    "Benchmarks",
    [
      "LLVSTool", "LLVSMount", "Control", "Documents", "WorkingTree", "Events", "Grammar",
      "TreeNames", "FuseSession", "LLVS", "LLVSExchange", "LLVSCore", "ObjectStores",
      "KeyValueCRDT", "Inodes", "Search", "SQLite", "Platform",
    ], "Each part is measured by itself, and nothing of the program depends on its measuring."
  ),
  ("Samples", ["LLVS", "LLVSModel", "KeyValueCRDT"], "Samples are programs of anybody."),
]

/// Modules from outside, and who may import them.
private let outside: [String: Set<String>] = [
  "Glibc": ["Platform", "FuseSession"],
  "Foundation": [
    "LLVSCore", "Search", "LLVSExchange", "LLVSUtilities", "LLVS", "LLVSModel", "LLVSProjection",
    "LLVSTool", "Benchmarks", "Samples",
    "ObjectStores",
    "KeyValueCRDT",
  ],
  "SwiftSyntax": ["LLVSModelMacros"],
  "SwiftSyntaxBuilder": ["LLVSModelMacros"],
  "SwiftSyntaxMacros": ["LLVSModelMacros"],
  "SwiftCompilerPluginMessageHandling": ["LLVSModelMacros"],
  "Dispatch": ["LLVSCore", "KeyValueCRDT"],
  "Synchronization": [
    "Platform", "ObjectStores", "KeyValueCRDT", "LLVSCore", "LLVSExchange", "LLVSUtilities", "LLVS",
    "LLVSModel", "TreeNames",
    "Grammar", "WorkingTree", "HistoryTree", "Control",
    "Reports",
    "FuseSession",
    "LLVSMount", "Web", "LLVSTool", "Benchmarks",
  ],
]

/// The folders of LLVSCore where a C library may be imported.
private let cImports: [String: String] = [
  "CZstd": "Storage", "CXXHash": "Storage", "CCrypto": "Model",
]

private let sources = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  .appendingPathComponent("Sources")

private struct Import {
  var module: String
  var folder: String
  var imported: String
  var place: String
  var line: String
}

private func imports() throws -> [Import] {
  var found: [Import] = []
  let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
  while let url = files?.nextObject() as? URL {
    guard url.pathExtension == "swift" else { continue }
    let parts = url.pathComponents.dropFirst(sources.pathComponents.count)
    let lines = try String(contentsOf: url, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = line.split(separator: " ").filter { !$0.hasPrefix("@") }
      guard let at = words.firstIndex(of: "import"), at <= 1, words.count > at + 1 else { continue }
      found.append(
        Import(
          module: parts.first ?? "", folder: parts.dropFirst().first ?? "",
          imported: String(words[at + 1].split(separator: ".")[0]),
          place: "\(parts.joined(separator: "/")):\(index + 1)", line: String(line)))
    }
  }
  return found
}

@Test("Every import goes down a layer, never up or across")
func importsGoDown() throws {
  let all = try imports()
  #expect(all.count > 50, "the sources were not found")
  let known = Dictionary(uniqueKeysWithValues: rules.map { ($0.module, $0) })
  for one in all {
    let rule = try #require(known[one.module], "\(one.place): no rule for \(one.module)")
    if let users = outside[one.imported] {
      #expect(
        users.contains(one.module),
        "\(one.place): \(one.module) must not import \(one.imported): \(one.line)")
    } else {
      #expect(
        rule.imports.contains(one.imported),
        "\(one.place): \(one.module) must not import \(one.imported). \(rule.reason)")
    }
  }
}

@Test("The rules name every module and let none import one that stands above it")
func rulesPointOneWay() throws {
  let order = rules.map(\.module)
  for (index, rule) in rules.enumerated() {
    for above in order[index...] {
      #expect(!rule.imports.contains(above), "\(rule.module) may not import \(above)")
    }
  }
  let folders = try FileManager.default.contentsOfDirectory(atPath: sources.path)
  let modules = folders.filter { name in
    (FileManager.default.enumerator(atPath: sources.appendingPathComponent(name).path)?
      .contains { ($0 as? String)?.hasSuffix(".swift") == true }) == true
  }
  #expect(Set(modules) == Set(order))
}

@Test("C libraries are imported where they are wrapped and nowhere else")
func cLibrariesStayInTheirFolders() throws {
  for one in try imports() where one.module == "LLVSCore" {
    guard let folder = cImports[one.imported] else { continue }
    #expect(
      one.folder == folder,
      "\(one.place): \(one.imported) belongs in LLVSCore/\(folder)")
  }
}

/// The targets of tests that are about no single module.
private let broad: Set<String> = ["SystemTests", "LayeringTests", "FuzzTests"]

/// The folders of tests that no folder of their module answers to.
private let ownFolders: Set<String> = [
  "DocumentsTests/Convergence", "LLVSToolTests/Examples", "ObjectStoresTests/Conformance",
]

@Test("A target of tests has the name and the folders of its module")
func testsMirrorSources() throws {
  let tests = sources.deletingLastPathComponent().appendingPathComponent("Tests")
  let files = FileManager.default.enumerator(atPath: tests.path)?.compactMap { $0 as? String } ?? []
  let folders = Set(
    files.filter { $0.hasSuffix(".swift") }.map { ($0 as NSString).deletingLastPathComponent })
  #expect(folders.count > 30, "the tests were not found")
  for folder in folders.subtracting(ownFolders) {
    let parts = folder.split(separator: "/")
    guard let target = parts.first, target.hasSuffix("Tests"), !broad.contains(String(target))
    else {
      continue
    }
    let place = ([target.dropLast(5)] + parts.dropFirst()).joined(separator: "/")
    #expect(
      FileManager.default.fileExists(atPath: sources.appendingPathComponent(place).path),
      "Tests/\(folder): there is no Sources/\(place)")
  }
}
