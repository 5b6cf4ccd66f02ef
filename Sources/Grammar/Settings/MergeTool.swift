import Platform

/// A program for merging texts, and the form of its arguments.
package struct MergeTool: Sendable {
  package let words: [String]

  private static let known: [(name: String, program: String, words: [String])] = [
    ("meld", "meld", ["meld", "--output=MERGED", "OURS", "BASE", "THEIRS"]),
    ("kdiff3", "kdiff3", ["kdiff3", "--output=MERGED", "BASE", "OURS", "THEIRS"]),
    (
      "nvimdiff", "nvim",
      ["nvim", "-d", "-c", "4wincmd w | wincmd J", "OURS", "BASE", "THEIRS", "MERGED"]
    ),
    (
      "vimdiff", "vim",
      ["vim", "-f", "-d", "-c", "4wincmd w | wincmd J", "OURS", "BASE", "THEIRS", "MERGED"]
    ),
  ]

  private static let places = ["BASE", "OURS", "THEIRS", "MERGED"]

  /// Takes a known tool's name, or a command, split as by a shell; without placeholders, the files are appended.
  package init(_ text: String) throws(ControlError) {
    if let found = Self.known.first(where: { $0.name == text }) {
      words = found.words
      return
    }
    let split = try ControlScript.words(of: Array(text.utf8)).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard !split.isEmpty else { throw ControlError(.grammar, "no merge tool is named") }
    let namesFiles = split.contains { word in Self.places.contains { Self.replaces($0, in: word) } }
    words = namesFiles ? split : split + Self.places
  }

  /// Finds an installed tool; one with windows only if there is a display.
  package static func installed() -> MergeTool? {
    let hasScreen =
      SystemProcess.environment("DISPLAY") != nil
      || SystemProcess.environment("WAYLAND_DISPLAY") != nil
    let found = known.first { tool in
      (hasScreen || tool.name.hasSuffix("diff")) && SystemProcess.isInstalled(tool.program)
    }
    return found.flatMap { try? MergeTool($0.name) }
  }

  /// True if a word is a placeholder, or ends in `=` and a placeholder.
  private static func replaces(_ place: String, in word: String) -> Bool {
    word == place || word.hasSuffix("=\(place)")
  }

  package func command(base: String, ours: String, theirs: String, merged: String) -> [String] {
    let files = ["BASE": base, "OURS": ours, "THEIRS": theirs, "MERGED": merged]
    return words.map { word in
      guard let place = Self.places.first(where: { Self.replaces($0, in: word) }),
        let file = files[place]
      else { return word }
      return String(word.dropLast(place.count)) + file
    }
  }
}
