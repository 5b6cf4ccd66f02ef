import Inodes
import LLVSCore
import Platform
package import TreeNames

// What the patterns keep out of versions. Files `.llvsignore` count as the tree shows them, so that a
// file which is written together with what it names already keeps that out.

/// What is known of files `.llvsignore`, until the tree changes.
struct IgnoreKnowledge {
  /// The patterns for names in directories, by the directory's path, at ``stamp``.
  var scopes: [[UInt8]: IgnoreScope] = [:]
  var stamp: UInt64 = 0
  /// What the base has in directories, at ``baseStamp``; nil for no such file.
  var inBase: [[UInt8]: StoredContent?] = [:]
  var baseStamp: UInt64 = 0
  /// Parsed files, by their text.
  var parsed: [[UInt8]: IgnorePatterns] = [:]

  static let mostDirectories = 1 << 16
  static let mostFiles = 256
}

extension LiveTree {
  /// True if a pattern matches a path or a directory above it; call with the lock held.
  func isMatched(_ path: [UInt8], isDirectory: Bool) -> Bool {
    let end = path.lastIndex(of: 0x2F)
    return scope(of: end.map { Array(path[..<$0]) } ?? []).ignores(
      path: path, isDirectory: isDirectory)
  }

  /// Returns the pattern that matches a path or a directory above it, whatever the base has there.
  package func reasonToIgnore(_ path: [UInt8], isDirectory: Bool) -> IgnoreScope.Reason? {
    lock.withLock { _ in
      let end = path.lastIndex(of: 0x2F)
      return scope(of: end.map { Array(path[..<$0]) } ?? []).reason(
        path: path, isDirectory: isDirectory)
    }
  }

  /// Returns the patterns for names in a directory.
  package func ignoreScope(of directory: [UInt8]) -> IgnoreScope {
    lock.withLock { _ in scope(of: directory) }
  }

  /// Returns the patterns of the file in a directory, as the tree shows it; nil if there is none.
  package func ignoreFilePatterns(in directory: [UInt8]) -> IgnorePatterns? {
    lock.withLock { _ in patterns(in: directory) }
  }

  /// Changes the store's own patterns.
  package func setIgnore(_ patterns: IgnorePatterns) {
    lock.withLock { _ in
      ignore = patterns
      ignoreKnowledge.scopes = [:]
    }
  }

  private func scope(of directory: [UInt8]) -> IgnoreScope {
    if ignoreKnowledge.stamp != stamp || ignoreKnowledge.baseStamp != baseStamp {
      ignoreKnowledge.scopes = [:]
      ignoreKnowledge.stamp = stamp
    }
    if ignoreKnowledge.baseStamp != baseStamp {
      ignoreKnowledge.inBase = [:]
      ignoreKnowledge.baseStamp = baseStamp
    }
    if let known = ignoreKnowledge.scopes[directory] { return known }
    var scope: IgnoreScope
    if directory.isEmpty {
      scope = IgnoreScope(ignore)
    } else {
      let end = directory.lastIndex(of: 0x2F)
      scope = self.scope(of: end.map { Array(directory[..<$0]) } ?? [])
    }
    if let patterns = patterns(in: directory) { scope.add(patterns, of: directory) }
    if ignoreKnowledge.scopes.count >= IgnoreKnowledge.mostDirectories {
      ignoreKnowledge.scopes = [:]
    }
    ignoreKnowledge.scopes[directory] = scope
    return scope
  }

  /// Returns the patterns of the file in a directory; nil if there is none that can be read.
  private func patterns(in directory: [UInt8]) -> IgnorePatterns? {
    guard let content = ignoreFile(in: directory), content.size > 0,
      content.size <= UInt64(IgnoreScope.fileLimit)
    else { return nil }
    let text = try? [UInt8].filled(Int(content.size)) { raw throws(FSError) in
      _ = try read(content, at: 0, into: raw)
    }
    guard let text else { return nil }
    if let known = ignoreKnowledge.parsed[text] { return known }
    let patterns = IgnorePatterns(text)
    if ignoreKnowledge.parsed.count >= IgnoreKnowledge.mostFiles { ignoreKnowledge.parsed = [:] }
    ignoreKnowledge.parsed[text] = patterns
    return patterns
  }

  /// Returns the file in a directory, as the tree shows it; nil if there is none.
  private func ignoreFile(in directory: [UInt8]) -> FileContent? {
    var node: LiveNode? = root
    var basePath: [UInt8]? = root.directory?.basePath
    for name in directory.split(separator: 0x2F) {
      if let override = node?.directory?.overrides[Array(name)] {
        guard let child = override.node, let below = child.directory else { return nil }
        node = child
        basePath = below.basePath
      } else {
        node = nil
        basePath = basePath.map { $0.isEmpty ? Array(name) : $0 + [0x2F] + name }
      }
    }
    if let override = node?.directory?.overrides[IgnoreScope.fileName] {
      guard let file = override.node, file.kind == .regular else { return nil }
      return file.content
    }
    return basePath.flatMap { stored(in: $0) }.map { FileContent(stored: $0) }
  }

  /// Returns the file in a directory of the base.
  private func stored(in basePath: [UInt8]) -> StoredContent? {
    if let known = ignoreKnowledge.inBase[basePath] { return known }
    var found: StoredContent?
    let there = (try? names.child(of: basePath, named: IgnoreScope.fileName)) ?? nil
    if case .value(let entry)? = there, entry.kind == .regular { found = entry.stored }
    if ignoreKnowledge.inBase.count >= IgnoreKnowledge.mostDirectories {
      ignoreKnowledge.inBase = [:]
    }
    ignoreKnowledge.inBase[basePath] = .some(found)
    return found
  }
}
