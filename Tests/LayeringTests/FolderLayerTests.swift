import Foundation
import Testing

/// The folders of a module in the order of their layers, and the sentence that says why.
private struct FolderRule {
  var module: String
  /// Lowest first: a folder uses types of its own and of folders before it.
  var order: [String]
  var reason: String
}

private let folderRules = [
  FolderRule(
    module: "LLVSCore",
    order: [
      "Model", "ValueMap", "Storage", "History", "Documents", "Merge", "Conflicts", "Store",
    ],
    reason: "Formats and algorithms know nothing of the store that uses them."),
  FolderRule(
    module: "Documents", order: ["Mapping", "Syncing", "File"],
    reason: "What a document comes to is found without a file at hand."),
  FolderRule(
    module: "WorkingTree",
    order: ["Model", "Overlay", "Journal", "Rows", "Posix", "Recording", "Checkout", "Session"],
    reason: "Pending changes know no rows, programs' calls no versions, and a version no session."),
  FolderRule(
    module: "Grammar", order: ["Times", "Replies", "Settings", "Arbiters", "Commands"],
    reason: "Settings name arbiters and times; a command names settings."),
  FolderRule(
    module: "HistoryTree", order: ["Snapshot", "Virtual", "Versions"],
    reason: "A version is read without the tree that shows it."),
  FolderRule(
    module: "Control", order: ["Peers", "Commands", "Sessions"],
    reason: "A peer is reached without a command; what runs commands stands above them."),
  FolderRule(
    module: "LLVSMount", order: ["Operations", "Daemon"],
    reason: "Requests are answered without knowing the life of the mount."),
  FolderRule(
    module: "Reports", order: ["", "Diff", "Log", "Search", "Blame", "Space"],
    reason: "A log tells differences; a difference knows no log."),
]

/// A Swift file of a module without its comments, and the folder it is in.
private struct SourceFile {
  var folder: String
  var name: String
  var text: String

  init(_ path: String, in module: URL) throws {
    let parts = path.split(separator: "/")
    folder = parts.count > 1 ? String(parts[0]) : ""
    name = path
    text = try String(contentsOf: module.appendingPathComponent(path), encoding: .utf8)
      .replacing(#/\/\/.*/#, with: "")
  }

  /// The types that are declared at the top of the file and not private.
  var types: [String] {
    text.matches(
      of:
        #/(?m)^(?:@\w+ )*(?:package |public |final |indirect )*(?:struct|class|enum|protocol|actor|typealias) (\w+)/#
    ).map { String($0.1) }
  }

  /// Every word that may be the name of a type.
  var words: Set<Substring> { Set(text.matches(of: #/\b[A-Z]\w+\b/#).map(\.0)) }
}

private func files(of module: String) throws -> [SourceFile] {
  let url = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Sources/\(module)")
  let paths = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String } ?? []
  return try paths.filter { $0.hasSuffix(".swift") }.map { try SourceFile($0, in: url) }
}

@Test("The folders of a module use types of the folders below them and of no others")
func foldersPointOneWay() throws {
  for rule in folderRules {
    let files = try files(of: rule.module)
    #expect(files.count > 5, "the sources of \(rule.module) were not found")
    var homes: [Substring: String] = [:]
    for file in files {
      for type in file.types { homes[Substring(type)] = file.folder }
    }
    for file in files {
      let layer = try #require(
        rule.order.firstIndex(of: file.folder),
        "\(rule.module)/\(file.name): no rule for its folder")
      for word in file.words {
        guard let home = homes[word], let other = rule.order.firstIndex(of: home) else { continue }
        #expect(
          other <= layer,
          "\(rule.module)/\(file.name) uses \(word) of \(home), which stands above. \(rule.reason)")
      }
    }
  }
}
