import Inodes
import LLVSCore
import TreeNames

extension Advance {
  func putWhatDiffers(at path: TreePath) throws {
    guard let found = try after.find(path: path.bytes) else { return }
    try put(PathChange(path: path, after: found))
    guard found.isDirectory else { return }
    var listing = after.list(path.bytes)
    while let item = try listing.next() {
      try putWhatDiffers(at: path.appending(FileName(item.name)))
    }
  }

  /// Makes a path show what the map shows there.
  func put(_ change: PathChange) throws {
    let path = change.path
    guard let parent = try directory(at: path.parent) else {
      throw rows.damaged("nothing holds \(PrintableText.text(path.bytes))")
    }
    // A path that the first tree left free may have a name by now: the look-up of its cookie tells.
    let choice = try change.before == nil ? rows.choice(for: path.name, in: parent) : nil
    let isFree = choice.map { $0.own == nil } ?? false
    let old = try isFree ? nil : rows.child(of: parent, named: path.name)
    switch change.after {
    case .directory(let entry)?: try putDirectory(entry, at: path, in: parent, old)
    case .value(let entry)?: try putValue(entry, change, in: parent, old, choice)
    case nil: break
    }
  }

  func putDirectory(
    _ entry: Entry?, at path: TreePath, in parent: InodeNumber, _ old: BaseEntry?
  ) throws {
    var record = InodeRecord(entry, changed: now)
    let key = entry?.key(besides: path)
    if let old {
      guard old.inode.record.isDirectory else {
        throw rows.damaged("\(PrintableText.text(path.bytes)) is not a directory")
      }
      if old.key != key {
        try rows.setEntry(
          at: InodePlace(parent: parent, cookie: old.cookie), number: old.inode.number, key: key)
      }
      guard !record.isRecordedAs(old.inode.record) else { return }
      try setTimes(of: &record, at: path, old.inode.number, old: old.inode.record)
      return try rows.update(record, of: old.inode.number, from: old.inode.record)
    }
    let number = try newDirectory(at: path, record)
    try add(number, path.name, in: parent, isDirectory: true, key: key)
    remember(number, at: path)
  }

  /// Returns the number of a new directory: the working tree's, if no other name has it.
  func newDirectory(at path: TreePath, _ record: InodeRecord) throws -> InodeNumber {
    guard let hinted = hints.directories[path], hinted != .root, try isNameless(hinted) else {
      let number = try numbers.number()
      try rows.insert(record, at: number)
      return number
    }
    var record = record
    if let times = hints.frozen?.nodes.times(of: hinted) {
      record.show(NumberHints.Times(modified: times.mtime, changed: times.ctime))
    }
    if let row = try rows.inode(hinted) {
      try empty(hinted)
      try rows.update(record, of: hinted, from: row.inode.record)
    } else {
      try rows.insert(record, at: hinted)
    }
    return hinted
  }

  func putValue(
    _ entry: Entry, _ change: PathChange, in parent: InodeNumber, _ old: BaseEntry?,
    _ choice: CookieChoice?
  ) throws {
    let path = change.path
    var record = InodeRecord(entry, changed: now)
    // Bytes without a time are as old as the version that stored them.
    if entry.attributes.mtime == nil { record.shownTime = time(entry.storedVersion) }
    let key = entry.key(besides: path)
    if let old, old.inode.record.isDirectory {
      throw rows.damaged("\(PrintableText.text(path.bytes)) is a directory")
    }
    if let old, case .value(let value)? = change.before, change.target != nil {
      numberByKey[value.key] = old.inode.number
    }
    let number = try number(for: entry, record, change, old)
    if let old {
      // The number of a value shown elsewhere is found later, with its row.
      if change.target == nil, old.inode.links == 1, try rows.inode(number) == nil {
        showTimes(of: &record, at: path)
        try rows.replaceFile(
          old.inode, at: InodePlace(parent: parent, cookie: old.cookie), by: number, record,
          key: key)
        return try noteChange(of: path.name, in: parent, from: old.inode.number)
      }
      return try replace(old, at: path, in: parent, by: number, record, key: key)
    }
    if entry.attributes.linkID == nil, try rows.inode(number) == nil {
      showTimes(of: &record, at: path)
      let choice = try choice ?? rows.choice(for: path.name, in: parent)
      let place = try rows.freePlace(for: path.name, in: parent, given: given(in: parent), choice)
      try rows.addFile(record, at: number, path.name, at: place, key: key)
      return try noteAdded(number, path.name, isDirectory: false, in: parent)
    }
    try write(record, of: number, at: path)
    try add(number, path.name, in: parent, isDirectory: false, key: key)
  }

  func replace(
    _ old: BaseEntry, at path: TreePath, in parent: InodeNumber, by number: InodeNumber,
    _ record: InodeRecord, key: Key?
  ) throws {
    let place = InodePlace(parent: parent, cookie: old.cookie)
    if number == old.inode.number {
      if old.key != key { try rows.setEntry(at: place, number: number, key: key) }
      guard !record.isRecordedAs(old.inode.record) else { return }
      var record = record
      try keepTimes(of: old.inode.record, in: &record, at: path)
      if old.inode.links == 1 { showTimes(of: &record, at: path) }
      return try rows.update(record, of: number, from: old.inode.record)
    }
    try write(record, of: number, at: path)
    if try rows.setEntry(at: place, from: old.inode.number, to: number, key: key) {
      nameless.insert(old.inode.number)
    }
    try noteChange(of: path.name, in: parent, from: old.inode.number)
  }

  func write(_ record: InodeRecord, of number: InodeNumber, at path: TreePath) throws {
    guard let row = try rows.inode(number) else { return try rows.insert(record, at: number) }
    // Another name of the file had the same record.
    if row.place != nil, record.hasSameContent(as: row.inode.record) { return }
    guard !record.isRecordedAs(row.inode.record) else { return }
    var record = record
    try keepTimes(of: row.inode.record, in: &record, at: path)
    try rows.update(record, of: number, from: row.inode.record)
  }

  private func given(in directory: InodeNumber) -> GivenCookies {
    if let given = givenCookies[directory] { return given }
    let given = GivenCookies(hints.cookies(directory))
    givenCookies[directory] = given
    return given
  }

  func add(
    _ number: InodeNumber, _ name: FileName, in parent: InodeNumber, isDirectory: Bool, key: Key?
  ) throws {
    let place = try rows.freePlace(for: name, in: parent, given: given(in: parent))
    try rows.addEntry(name, at: place, for: number, key: key)
    if isDirectory { try rows.addSubdirectories(1, to: parent) }
    try noteAdded(number, name, isDirectory: isDirectory, in: parent)
  }

  private func noteAdded(
    _ number: InodeNumber, _ name: FileName, isDirectory: Bool, in parent: InodeNumber
  ) throws {
    nameless.remove(number)
    count(1, isDirectory: isDirectory)
    try noteChange(of: name, in: parent, from: nil)
  }
}
