package import Inodes

/// Bytes of data files that are missing or damaged.
struct LostBytes {
  var ranges: [UInt32: [Range<UInt64>]] = [:]
  /// The size of each existing data file.
  var sizes: [UInt32: UInt64] = [:]

  /// True if no byte of the content is lost.
  func spare(_ content: FileContent) -> Bool {
    var isWhole = true
    content.extents.forEach { extent in
      guard isWhole, extent.source != Extent.base else { return }
      let range = extent.offset..<(extent.offset + extent.length)
      isWhole =
        range.upperBound <= sizes[extent.source] ?? 0
        && !(ranges[extent.source]?.contains { $0.overlaps(range) } ?? false)
    }
    return isWhole
  }
}

extension PendingFile {
  fileprivate func isWhole(_ lost: LostBytes) -> Bool {
    guard lost.spare(content), saved.map({ lost.spare($0.content) }) ?? true else { return false }
    return (counted.map { lost.spare($0.content) } ?? true) && (taken.map(lost.spare) ?? true)
  }
}

extension Overlay {
  /// The path of a node, for people, or the one where a new version will have its bytes; its number if it has none.
  package func title(_ number: InodeNumber) -> String {
    var (name, known) = (nodes[number]?.names.first, TreePath?.none)
    if case .detached(let place, let path, _)? = nodes[number]?.orphan {
      (name, known) = (place, path)
    }
    let path = name.flatMap { name in self.path(of: name.directory)?.appending(name.name) } ?? known
    return path.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "#\(number.rawValue)"
  }

  /// Returns the paths of the files with bytes in some ranges of data files.
  func files(with lost: [UInt32: [Range<UInt64>]]) -> [String] {
    guard !lost.isEmpty else { return [] }
    let all = LostBytes(
      ranges: lost,
      sizes: Dictionary(uniqueKeysWithValues: LiveBytes(of: self).sources.map { ($0, .max) }))
    return nodes.numbers { !$0.isWhole(all) }.filter { nodes[$0]?.orphan != .gone }.map(title)
      .sorted()
  }

  /// Reverts each file with lost bytes to its last whole state: a save, what is recorded, or none. Returns the
  /// paths of the files that lost something; `reach` are the ends of all bytes that records refer to.
  mutating func revert(_ lost: LostBytes, of reach: DataReach) -> [String] {
    if lost.ranges.isEmpty, reach.isWithin(lost.sizes) { return [] }
    var titles: [String] = []
    // A large overlay is copied only if something is lost.
    let torn = nodes.numbers { !$0.isWhole(lost) }
    // The number of nodes recorded at each name.
    var recorded: [InodeName: Int] = [:]
    if !torn.isEmpty {
      for name in nodes.values.lazy.flatMap(\.recordedNames) { recorded[name, default: 0] += 1 }
    }
    for number in torn.sorted() {
      guard let node = nodes[number], var file = node.file else { continue }
      if let saved = file.saved, !lost.spare(saved.content) { file.saved = nil }
      if let counted = file.counted, !lost.spare(counted.content) { file.counted = nil }
      if let taken = file.taken, !lost.spare(taken) { file.taken = nil }
      if lost.spare(file.content) {
        nodes[number]?.file = file
        continue
      }
      // A removed file would be forgotten anyway.
      if node.orphan != .gone { titles.append(title(number)) }
      if let whole = file.saved ?? file.counted {
        var kept = PendingFile(content: whole.content)
        kept.saved = whole
        kept.taken = file.taken
        nodes[number]?.file = kept
      } else if let base = file.content.base, !node.recordedNames.isEmpty {
        nodes[number]?.file = PendingFile(content: FileContent(stored: base))
      } else {
        for name in node.names { takeBack(name, isElsewhere: recorded[name] ?? 0 > 0) }
        for name in node.recordedNames { recorded[name, default: 0] -= 1 }
        forget(number)
      }
    }
    return titles.sorted()
  }

  /// Removes the name of a file whose content is lost. What is recorded at the name shows again, unless it was
  /// moved.
  private mutating func takeBack(_ name: InodeName, isElsewhere: Bool) {
    if isElsewhere, changes[name]?.hidesRecorded ?? false {
      changes[name]?.inode = nil
    } else {
      setChange(nil, at: name)
    }
  }
}
