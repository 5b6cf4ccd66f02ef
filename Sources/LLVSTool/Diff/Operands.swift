import Grammar
import HistoryTree
import LLVSCore
import Platform
import TreeNames

struct Operands {
  var versions: [VersionRecord] = []
  /// From the root of the tree, without slashes at the ends.
  var paths: [[UInt8]] = []
  /// The versions were given as `A..B`.
  var isRange = false

  /// Takes up to `most` words as versions while they name some, the rest and all after `--` as paths; a path has
  /// precedence over an abbreviated version. Throws ``ControlError`` of kind notFound for a word that is neither.
  init(
    _ line: CommandLine, _ site: CommandTarget, _ store: Store, versions most: Int,
    live: () -> LivePlace? = { nil }
  ) throws {
    let dashes = line.wordsBeforeDashes ?? line.words.count
    for (index, word) in line.words.enumerated() {
      if index < dashes, paths.isEmpty, versions.count < most {
        // For a word that may be a version, pending changes are ignored.
        let isPath =
          try !Self.isName(word, store)
          && isThere(try site.path(line.bytes[index]), site, store) { nil }
        if !isPath, try take(word, store, most) { continue }
      }
      let path = try site.path(line.bytes[index])
      if index < dashes, try !isThere(path, site, store, live) {
        let mayBeVersion = versions.count < most && paths.isEmpty
        // A word that names no version was probably meant to.
        if mayBeVersion,
          try word == "head" || word.hasPrefix("at/") || !store.nearestNames(to: word).isEmpty
        {
          _ = try store.version(meant: word)
        }
        let kind = mayBeVersion ? "neither a version nor a file here" : "no file here"
        throw ControlError(
          .notFound,
          "\"\(word)\" is \(kind); for a path that no longer exists write: llvs \(line.verb) -- \(word)"
        )
      }
      paths.append(path)
    }
  }

  /// True if a word is the full name of a version, without steps.
  private static func isName(_ word: String, _ store: Store) throws -> Bool {
    if word == "head" || word.hasPrefix("at/") { return true }
    if try store.newestHead(ofLine: word) != nil || store.version(tagged: word) != nil {
      return true
    }
    return try store.version(named: word) != nil || store.version(Version.ID(word)) != nil
  }

  private mutating func take(_ word: String, _ store: Store, _ most: Int) throws -> Bool {
    if let version = try Self.version(word, store) {
      versions.append(version)
      return true
    }
    guard versions.count + 2 <= most, let dots = word.firstRange(of: "..") else { return false }
    let (a, b) = (String(word[..<dots.lowerBound]), String(word[dots.upperBound...]))
    guard let first = try Self.version(a.isEmpty ? "head" : a, store),
      let second = try Self.version(b.isEmpty ? "head" : b, store)
    else { return false }
    versions += [first, second]
    isRange = true
    return true
  }

  private static func version(_ word: String, _ store: Store) throws -> VersionRecord? {
    do throws(ControlError) {
      return try store.version(meant: word)
    } catch {
      let mayBeRange = word.hasPrefix("at/") && word.contains("..")
      guard error.kind == .notFound && word != "head" || mayBeRange else { throw error }
      return nil
    }
  }

  private func isThere(
    _ path: [UInt8], _ site: CommandTarget, _ store: Store, _ live: () -> LivePlace?
  ) throws -> Bool {
    if path.isEmpty { return true }
    if case .mounted(let tree, _) = site, tree.below(path) != nil,
      try FileSystem.exists(try tree.place(path))
    {
      return true
    }
    let head = try store.headRecord()
    for record in versions + [head].compactMap(\.self) {
      if try TreeView(map: store.map(of: record)).find(path: path) != nil { return true }
    }
    if case .store = site { return try live()?.has(path) ?? false }
    return false
  }
}

extension CommandTarget {
  var shownPaths: [[UInt8]] {
    guard case .mounted(let tree, _) = self, tree.isPart else { return [] }
    return [tree.part]
  }

  /// Returns the path after the colon of `VERSION:PATH`: from the top of the tree, or for `./PATH` and `../PATH` from
  /// the current directory.
  func pathInVersion(_ word: [UInt8]) throws(ControlError) -> [UInt8] {
    guard case .mounted(let tree, _) = self, word.first != UInt8(ascii: "/") else {
      return try path(word.isEmpty ? [UInt8(ascii: "/")] : word)
    }
    let first = word.prefix { $0 != UInt8(ascii: "/") }
    if first.elementsEqual(".".utf8) || first.elementsEqual("..".utf8) { return try path(word) }
    return try path(Array(tree.root.utf8) + [UInt8(ascii: "/")] + word)
  }

  /// Returns the path of a word: relative to the current directory in the mount, else from the root.
  /// - Throws: ``ControlError`` of kind grammar for an empty path, or one out of the tree.
  func path(_ word: [UInt8]) throws(ControlError) -> [UInt8] {
    // An unset variable of a script must not mean the whole tree.
    guard !word.isEmpty else { throw ControlError(.grammar, "a path is empty") }
    let slash = UInt8(ascii: "/")
    var parts: [ArraySlice<UInt8>] = []
    var rest = word[...]
    if case .mounted(let tree, _) = self {
      let directory = SystemProcess.workingDirectory ?? [slash]
      let root = Array(tree.root.utf8)
      let top = root == [slash] ? root : root + [slash]
      if word.starts(with: top) || word == root {
        // The word is the absolute path of a file in the mount.
        parts = tree.part.split(separator: slash)
        rest = word.dropFirst(root.count)
      } else if word.first != slash, directory == root || directory.starts(with: top) {
        let below = directory.dropFirst(root.count).split(separator: slash)
        if !below.contains(where: { $0.elementsEqual(".llvs".utf8) }) {
          parts = tree.part.split(separator: slash) + below
        }
      }
    }
    for part in rest.split(separator: slash) where !part.elementsEqual(".".utf8) {
      if part.elementsEqual("..".utf8) {
        guard parts.popLast() != nil else {
          throw ControlError(.grammar, "\(PrintableText.text(word)) is outside of the tree")
        }
      } else {
        parts.append(part)
      }
    }
    return Array(parts.joined(separator: [slash]))
  }
}
