import Inodes
import LLVSCore
import TreeNames

extension Advance {
  func number(
    for entry: Entry, _ record: InodeRecord, _ change: PathChange, _ old: BaseEntry?
  ) throws -> InodeNumber {
    let path = change.path
    let identity = FileIdentity(entry)
    let hint = self.hint(at: path).flatMap {
      $0.isFile(identity) && $0.linkID == entry.attributes.linkID ? $0 : nil
    }
    if let id = entry.attributes.linkID {
      for number in try rows.linked(by: id) {
        guard let row = try rows.inode(number), row.place != nil,
          row.inode.record.hasSameContent(as: record),
          try !record.lacksExtended || hasSameExtended(entry, as: number, besides: path)
        else { continue }
        guard let hint, try isNameless(hint.number), try isHidden(number) else { return number }
        if let old = try rows.inode(hint.number) {
          try rows.remove(hint.number, old.inode.record)
        }
        try rows.renumber(row, to: hint.number)
        return hint.number
      }
    }
    if let hint, try isFree(hint, for: path) { return hint.number }
    // A value that is shown elsewhere takes its number along.
    if let old, change.target == nil, FileIdentity(old.inode.record) == identity,
      old.inode.links == 1, try !isHinted(old.inode.number, besides: path)
    {
      return old.inode.number
    }
    for number in [numberByPath[path], numberByKey[entry.key]] {
      guard let number, let row = try rows.inode(number), row.place == nil,
        FileIdentity(row.inode.record) == identity, try !isHinted(number, besides: path)
      else { continue }
      return number
    }
    if let source = change.source, let there = try self.entry(at: source), there.inode.links == 1,
      there.inode.record.attributes.linkID == nil, FileIdentity(there.inode.record) == identity,
      there.key ?? KeyCoding.key(ofPath: source.bytes) == entry.key,
      try !isHinted(there.inode.number, besides: path)
    {
      // The name at the source gets another number later.
      try give(there, at: source)
      return there.inode.number
    }
    return try numbers.number()
  }

  /// True if programs see a recorded file at none of its names: versions keep it at the name of an unsaved file, or
  /// its directory is about to be removed.
  private func isHidden(_ number: InodeNumber) throws -> Bool {
    try rows.places(of: number).allSatisfy { place in
      let name = InodeName(directory: place.parent, name: try rows.name(at: place))
      return hints.frozen?.changes[name] != nil
    }
  }

  /// True if the head has an entry's attributes at all other names of a number too: rows lack the long ones.
  private func hasSameExtended(
    _ entry: Entry, as number: InodeNumber, besides path: TreePath
  ) throws -> Bool {
    for place in try rows.places(of: number) where try isReachable(place.parent) {
      let other = try self.path(of: place)
      guard other != path, let there = try value(at: [other]) else { continue }
      if there.attributes != entry.attributes { return false }
    }
    return true
  }

  /// True if the working tree has a number at another path, where the head has what the cut took.
  private func isHinted(_ number: InodeNumber, besides path: TreePath) throws -> Bool {
    guard let hint = hint(for: number), !hint.paths.contains(path),
      let there = try value(at: hint.paths)
    else { return false }
    return hint.isFile(FileIdentity(there))
  }

  /// True if a hinted number can go to a path: its other names in the rows, if any, are about to get something
  /// else. Names of the same file are among these, because they all change with it.
  func isFree(_ hint: NumberHints.File, for path: TreePath) throws -> Bool {
    guard !usedNumbers.contains(hint.number) else { return false }
    guard let row = try rows.inode(hint.number), row.place != nil else { return true }
    for place in try rows.places(of: hint.number) {
      // All directories that stay have a place by now; one without a place is removed with its names.
      guard try isReachable(place.parent) else { continue }
      let there = try self.path(of: place)
      guard there != path, case .value(let entry)? = try after.find(path: there.bytes),
        InodeRecord(entry, changed: now).isRecordedAs(row.inode.record)
      else { continue }
      usedNumbers.insert(hint.number)
      return false
    }
    return true
  }

  /// Takes the number from a name that is shown elsewhere, and whose place shows something else.
  func give(_ entry: BaseEntry, at path: TreePath) throws {
    guard let parent = try directory(at: path.parent) else { return }
    let number = try numbers.number()
    try rows.insert(entry.inode.record, at: number)
    let place = InodePlace(parent: parent, cookie: entry.cookie)
    try noteChange(of: path.name, in: parent, from: entry.inode.number)
    if try rows.setEntry(at: place, from: entry.inode.number, to: number, key: entry.key) {
      nameless.insert(entry.inode.number)
    }
  }
}
