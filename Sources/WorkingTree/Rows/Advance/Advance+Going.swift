import Inodes
import LLVSCore
import TreeNames

extension Advance {
  func remove(_ change: PathChange) throws {
    guard let parent = try directory(at: change.path.parent),
      let entry = try rows.child(of: parent, named: change.path.name)
    else { throw rows.damaged("\(PrintableText.text(change.path.bytes)) is missing") }
    if case .value(let value)? = change.before, change.target != nil {
      numberByKey[value.key] = entry.inode.number
    }
    try remove(entry, at: change.path, in: parent, comesAgain: change.after != nil)
  }

  func remove(
    _ entry: BaseEntry, at path: TreePath, in parent: InodeNumber, comesAgain: Bool
  ) throws {
    let isDirectory = entry.inode.record.isDirectory
    if isDirectory {
      known[path] = nil
    } else if comesAgain {
      numberByPath[path] = entry.inode.number
    }
    try take(
      entry.inode.number, from: InodePlace(parent: parent, cookie: entry.cookie),
      isDirectory: isDirectory)
  }

  func take(_ number: InodeNumber, from place: InodePlace, isDirectory: Bool) throws {
    try noteChange(of: rows.name(at: place), in: place.parent, from: number)
    if try rows.removeEntry(at: place, of: number) { nameless.insert(number) }
    count(-1, isDirectory: isDirectory)
    if isDirectory { try rows.addSubdirectories(-1, to: place.parent) }
  }

  func count(_ change: Int64, isDirectory: Bool) {
    if isDirectory { directories += change } else { values += change }
  }

  /// Removes the rows at and below a path where the map has nothing, or another kind than the rows (file or
  /// directory).
  func removeWhatDiffers(at path: TreePath) throws {
    guard let parent = try directory(at: path.parent),
      let entry = try rows.child(of: parent, named: path.name)
    else { return }
    try removeWhatDiffers(entry, at: path, in: parent)
  }

  func removeWhatDiffers(_ entry: BaseEntry, at path: TreePath, in parent: InodeNumber) throws {
    let found = try after.find(path: path.bytes)
    if entry.inode.record.isDirectory {
      try forEachEntry(of: entry.inode.number) {
        try removeWhatDiffers($0, at: path.appending($0.name), in: entry.inode.number)
      }
      if found?.isDirectory != true {
        try remove(entry, at: path, in: parent, comesAgain: found != nil)
      }
      return
    }
    let stays: Bool
    if case .value(let value)? = found {
      stays =
        entry.inode.record.attributes.linkID == nil
        || InodeRecord(value, changed: now).isRecordedAs(entry.inode.record)
    } else {
      stays = false
    }
    if !stays {
      numberByKey[entry.key ?? KeyCoding.key(ofPath: path.bytes)] = entry.inode.number
      try remove(entry, at: path, in: parent, comesAgain: found != nil)
    }
  }

  /// Calls `body` with each entry of a directory; it may remove the entry.
  func forEachEntry(of directory: InodeNumber, _ body: (BaseEntry) throws -> Void) throws {
    var cookie = EntryCookie.start
    while true {
      let page = try rows.page(of: directory, after: cookie, limit: 512)
      for entry in page { try body(entry) }
      guard page.count == 512, let last = page.last else { return }
      cookie = last.cookie
    }
  }
}
