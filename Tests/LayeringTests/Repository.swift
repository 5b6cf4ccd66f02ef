import Foundation

/// The texts of this repository, as the checks of its structure read them.
enum Repository {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  struct File {
    /// From the top of the repository.
    let path: String
    let text: String

    var name: String { URL(fileURLWithPath: path).lastPathComponent }
  }

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The texts below a directory; what is no text is left out.
  static func files(below directory: String, where isWanted: (URL) -> Bool) -> [File] {
    var files: [File] = []
    let start = root.appendingPathComponent(directory)
    let found = FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil)
    while let url = found?.nextObject() as? URL {
      guard isWanted(url), let text = try? String(contentsOf: url, encoding: .utf8) else {
        continue
      }
      let parts = url.pathComponents.dropFirst(root.pathComponents.count)
      files.append(File(path: parts.joined(separator: "/"), text: text))
    }
    return files
  }

  /// Everything that is compiled.
  static func sources() -> [File] {
    ["Sources", "Tests"].flatMap { directory in
      files(below: directory) { ["swift", "c", "h"].contains($0.pathExtension) }
    }
  }

  static func scripts() -> [File] {
    // Everything in these is a script, but for the unit of systemd.
    ["mount-scripts", ".ci"].flatMap { directory in
      files(below: directory) { $0.pathExtension != "service" }
    }
  }

  /// The pages of the project, by file name.
  static func pages() -> [String: String] {
    let pages = files(below: "Sources/llvs/llvs.docc") { $0.pathExtension == "md" }
    return Dictionary(pages.map { ($0.name, $0.text) }) { $1 }
  }
}
