import Foundation
import Testing

/// Which of our modules each may import, and why not others: arrows go down only.
private let allowed: [String: Set<String>] = [
  "Platform": ["CShims"],
  "LLVS": ["Platform", "CShims", "CSQLite", "CZstd", "CCrypto", "CXXHash"],
  "ObjectStores": ["Platform", "CCrypto", "CCurl"],
  "FuseSession": ["Platform", "CShims", "CFuse3"],
  "FileTree": ["LLVS", "Platform"],
  "LLVSMount": ["FileTree", "FuseSession", "LLVS", "Platform"],
  "LLVSTool": ["LLVSMount", "FileTree", "FuseSession", "LLVS", "Platform", "CZlib"],
  "llvs": ["LLVSTool", "Platform"],
]

/// Modules from outside, and who may import them.
private let outside: [String: Set<String>] = [
  "Glibc": ["Platform", "FuseSession"],
  "Foundation": ["LLVS", "LLVSTool", "ObjectStores"],
  "FoundationXML": ["ObjectStores"],
  "Dispatch": ["LLVS"],
  "Synchronization": [
    "Platform", "ObjectStores", "LLVS", "FileTree", "FuseSession", "LLVSMount", "LLVSTool",
  ],
]

/// The folders of LLVS where a C library may be imported.
private let cImports: [String: String] = [
  "CSQLite": "Storage", "CZstd": "Storage", "CXXHash": "Storage", "CCrypto": "Model",
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
  for one in all {
    let ours = try #require(allowed[one.module], "\(one.place): no rule for \(one.module)")
    if let users = outside[one.imported] {
      #expect(
        users.contains(one.module),
        "\(one.place): \(one.module) must not import \(one.imported): \(one.line)")
    } else {
      #expect(
        ours.contains(one.imported),
        "\(one.place): \(one.module) must not import \(one.imported), which is not below it")
    }
  }
}

@Test("C libraries are imported where they are wrapped and nowhere else")
func cLibrariesStayInTheirFolders() throws {
  for one in try imports() where one.module == "LLVS" {
    guard let folder = cImports[one.imported] else { continue }
    #expect(
      one.folder == folder,
      "\(one.place): \(one.imported) belongs in LLVS/\(folder)")
  }
}
