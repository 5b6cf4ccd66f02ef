internal import Platform

/// Copies of a document that synchronising services put next to it when two devices changed it concurrently.
///
/// Dropbox: `NAME (HOST's conflicted copy DATE).EXT`. Nextcloud: `NAME (conflicted copy DATE TIME).EXT`.
/// Syncthing: `NAME.sync-conflict-DATE-TIME-DEVICE.EXT`. Others: `NAME (1).EXT`.
package enum ConflictCopies {
  /// In ascending order; none if the directory cannot be read.
  package static func paths(of document: String) -> [String] {
    let directory = FileSystem.directory(of: document)
    let name = String(document.dropFirst(directory == "/" ? 1 : directory.count + 1))
    guard let names = try? FileSystem.list(directory) else { return [] }
    return names.filter { isCopy($0, of: name) }.sorted().map {
      directory == "/" ? "/\($0)" : "\(directory)/\($0)"
    }
  }

  package static func isCopy(_ name: String, of document: String) -> Bool {
    let dot = document.lastIndex(of: ".").flatMap { $0 == document.startIndex ? nil : $0 }
    let stem = dot.map { document[..<$0] } ?? Substring(document)
    let rest = dot.map { document[$0...] } ?? ""
    guard name != document, name.hasPrefix(stem), name.hasSuffix(rest),
      name.count > stem.count + rest.count
    else { return false }
    let middle = name.dropFirst(stem.count).dropLast(rest.count)
    if middle.hasPrefix(".sync-conflict-") { return true }
    guard middle.hasPrefix(" ("), middle.hasSuffix(")") else { return false }
    let words = middle.dropFirst(2).dropLast()
    return words.contains("conflicted copy")
      || !words.isEmpty && words.allSatisfy { $0.isASCII && $0.isNumber }
  }
}
