/// Patterns for names that never enter a version: lines as in gitignore(5), matched on bytes.
///
/// The last matching line decides. Everything in an ignored directory is ignored. A table indexed by the first and
/// the last byte of a name excludes most lines.
/// - Concurrency: immutable; any thread.
package struct IgnorePatterns: Sendable {
  /// A line that cannot be parsed; it has no effect.
  package struct Fault: Hashable, Sendable {
    /// Counted from 1.
    package let line: Int
    package let text: [UInt8]
  }

  /// In bytes; the rest of a longer text is ignored.
  package static let maximumLength = 1 << 20
  package let faults: [Fault]
  private let patterns: [IgnorePattern]
  /// Counted from 1.
  private let lines: [Int]
  package var isEmpty: Bool { patterns.isEmpty }
  /// Bit p % 64 of word p / 64 is set if pattern p can match a name with that first, or last, byte.
  private let masks: [(first: [UInt64], last: [UInt64])]

  package init(_ text: [UInt8]) {
    var patterns: [IgnorePattern] = []
    var numbers: [Int] = []
    var faults: [Fault] = []
    let lines = text.prefix(IgnorePatterns.maximumLength).split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      do throws(IgnorePattern.Fault) {
        if let pattern = try IgnorePattern(line: line) {
          patterns.append(pattern)
          numbers.append(index + 1)
        }
      } catch {
        faults.append(Fault(line: index + 1, text: Array(line)))
      }
    }
    var masks: [(first: [UInt64], last: [UInt64])] = []
    for start in stride(from: 0, to: patterns.count, by: 64) {
      var first = [UInt64](repeating: 0, count: 256)
      var last = [UInt64](repeating: 0, count: 256)
      for index in start..<min(start + 64, patterns.count) {
        let bit = UInt64(1) << UInt64(index - start)
        let (begins, ends) = (patterns[index].firstBytesOfName, patterns[index].lastBytes)
        for byte in 0..<256 {
          if begins.contains(UInt8(byte)) { first[byte] |= bit }
          if ends.contains(UInt8(byte)) { last[byte] |= bit }
        }
      }
      masks.append((first, last))
    }
    self.patterns = patterns
    self.lines = numbers
    self.faults = faults
    self.masks = masks
  }

  /// True if a path, or a directory above it, is ignored; the path has no slashes at its ends.
  /// - Complexity: usually O(components).
  package func ignores(path: [UInt8], isDirectory: Bool = false) -> Bool {
    guard !patterns.isEmpty, !path.isEmpty else { return false }
    return path.withUnsafeBytes { path in
      var start = 0
      for end in 0..<path.count where path[end] == UInt8(ascii: "/") {
        let parent = UnsafeRawBufferPointer(rebasing: path[..<end])
        if decides(parent, nameStart: start, isDirectory: true) { return true }
        start = end + 1
      }
      return decides(path, nameStart: start, isDirectory: isDirectory)
    }
  }

  /// The pattern that decides about a path.
  package struct Verdict: Hashable, Sendable {
    package let ignores: Bool
    /// Counted from 1.
    package let line: Int
  }

  /// Returns the verdict on a path itself, not on the directories above it.
  package func verdict(on path: ArraySlice<UInt8>, isDirectory: Bool) -> Verdict? {
    guard !patterns.isEmpty, !path.isEmpty else { return nil }
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 - path.startIndex } ?? 0
    return path.withUnsafeBytes { path in
      match(path, nameStart: start, isDirectory: isDirectory).map {
        Verdict(ignores: !patterns[$0].isNegated, line: lines[$0])
      }
    }
  }

  private func decides(
    _ path: UnsafeRawBufferPointer, nameStart: Int, isDirectory: Bool
  ) -> Bool {
    match(path, nameStart: nameStart, isDirectory: isDirectory)
      .map { !patterns[$0].isNegated } ?? false
  }

  private func match(
    _ path: UnsafeRawBufferPointer, nameStart: Int, isDirectory: Bool
  ) -> Int? {
    guard nameStart < path.count else { return nil }
    let (first, last) = (Int(path[nameStart]), Int(path[path.count - 1]))
    var word = masks.count - 1
    while word >= 0 {
      var candidates = masks[word].first[first] & masks[word].last[last]
      while candidates != 0 {
        let bit = 63 - candidates.leadingZeroBitCount
        candidates &= ~(1 << UInt64(bit))
        let pattern = patterns[word * 64 + bit]
        if pattern.isDirectoryOnly && !isDirectory { continue }
        if pattern.matches(path: path, nameStart: nameStart) { return word * 64 + bit }
      }
      word -= 1
    }
    return nil
  }

  /// The setting with a store's own patterns.
  package static let settingName = "ignore"

  /// The patterns of a new store: files that editors and systems leave next to others.
  ///
  /// It omits names of temporary files that people also use: ignored, a story called `sedatives` or message 4913 of
  /// a mail folder would silently never be kept. Such temporary files are usually removed before the next cut.
  package static let defaultText = Array(
    """
    # Files that never enter a version: kept here, never sent. Lines as in .gitignore.
    # Files that are in a version already stay versioned.

    # vim, neovim, nano: swap files and their probes
    .*.sw[a-px]
    .*.swpx
    .sw[a-px]
    .swpx
    # vim, emacs, joe, kate, gedit: backups and undo files
    *~
    # emacs: auto-save and lock files
    \\#*#
    .#*
    # kate, kwrite
    .*.kate-swp
    # gedit and other GNOME programs, while saving
    .goutputstream-*
    # LibreOffice, Microsoft Office: locks
    .~lock.*#
    ~$*
    # JetBrains, while saving
    *___jb_tmp___
    *___jb_old___
    # browsers, while a file is fetched
    *.crdownload
    *.part
    *.partial
    # SQLite: memory that programs with an open database share
    *-shm
    # the trash of Linux, macOS and Windows
    .Trash-[0-9]*/
    .Trashes/
    $RECYCLE.BIN/
    # how a system shows a directory
    .DS_Store
    ._.DS_Store
    .directory
    Thumbs.db
    [Dd]esktop.ini
    # removed but open: NFS, FUSE
    .nfs*
    .fuse_hidden*

    """.utf8)

  package static let defaults = IgnorePatterns(defaultText)
}
