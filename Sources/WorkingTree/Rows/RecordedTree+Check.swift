package import Inodes
package import LLVSCore
import SQLite
package import TreeNames

extension RowsSnapshot {
  /// Checks the file's pages, and compares all rows with the tree of a map and with each other, in O(*n*). Returns
  /// at most 200 faults as sentences.
  package func faults(comparedWith view: TreeView) throws(StoreError) -> [String] {
    try read { rows in
      let faults = try rows.database.integrityCheck()
      return try faults + TreeCheck.faults(of: rows, comparedWith: view)
    }
  }

  /// Returns at most 100 paths of inodes with invalid numbers, or numbers not below the counter.
  package func pathsOfNumbers(
    from counter: UInt64
  ) throws(StoreError) -> [(number: InodeNumber, path: TreePath)] {
    try read { rows in
      let numbers = try rows.numbers(outside: InodeNumber.root.rawValue..<counter, atMost: 100)
      return try numbers.map { ($0, try rows.path(of: $0)) }
    }
  }
}

extension TreeRows {
  fileprivate func numbers(
    outside range: Range<UInt64>, atMost limit: Int
  ) throws(DatabaseError) -> [InodeNumber] {
    let statement = try database.prepared(
      "SELECT number FROM inodes WHERE number < ? OR number >= ? ORDER BY number LIMIT ?")
    defer { statement.reset() }
    statement.bind(1, Int64(clamping: range.lowerBound)).bind(2, Int64(clamping: range.upperBound))
      .bind(3, Int64(limit))
    var numbers: [InodeNumber] = []
    while try statement.step() { numbers.append(InodeNumber(column: statement.integer(0))) }
    return numbers
  }

  fileprivate func path(of number: InodeNumber) throws(DatabaseError) -> TreePath {
    var names: [FileName] = []
    var number = number
    while number != .root, names.count <= 4096, let name = try self.names(of: number).first {
      names.append(name.name)
      number = name.directory
    }
    return names.reversed().reduce(TreePath.root) { $0.appending($1) }
  }
}

/// Walks the rows next to a tree.
struct TreeCheck {
  private static let limit = 100
  let rows: TreeRows
  let view: TreeView
  private(set) var faults: [String] = []
  private var names: [InodeNumber: Int] = [:]
  private var inodes: Int64 = 1
  private var values: Int64 = 0
  private var directories: Int64 = 0
  private var furtherNames: Int64 = 0
  private var linkIDs: Int64 = 0
  private var linked: [[UInt8]: [Linked]] = [:]

  /// A file with a link id in a row, and its attributes in the map, because rows lack long ones.
  private struct Linked {
    var record: InodeRecord
    var attributes: Attributes
    var number: InodeNumber
  }

  init(rows: TreeRows, view: TreeView) {
    self.rows = rows
    self.view = view
  }

  static func faults(of rows: TreeRows, comparedWith view: TreeView) throws -> [String] {
    var check = TreeCheck(rows: rows, view: view)
    try check.run()
    return check.faults
  }

  mutating func run() throws {
    guard let root = try rows.inode(.root), root.place == nil else {
      return fail(.root, "the root has no row, or a name")
    }
    try walk(.root, .root, subdirectories: root.inode.links)
    let state = try TreeRows.state(rows.database)
    try compare("values", values, state?.values)
    try compare("directories", directories, state?.directories)
    try compare(
      "entries", values + directories, rows.database.integer("SELECT count(*) FROM entries"))
    try compare("inodes", inodes, rows.database.integer("SELECT count(*) FROM inodes"))
    try compare("names", furtherNames, rows.database.integer("SELECT count(*) FROM names"))
    try compare("links", linkIDs, rows.database.integer("SELECT count(*) FROM links"))
    if state?.root != view.map.root { fail(.root, "the state names another map") }
  }

  private mutating func compare(_ what: String, _ found: Int64, _ told: Int64?) throws {
    if found != told { fail(.root, "\(found) \(what) were found and not \(told ?? -1)") }
  }

  private mutating func fail(_ path: TreePath, _ fault: String) {
    if faults.count < Self.limit { faults.append("\(PrintableText.text(path.bytes)): \(fault)") }
  }

  private mutating func walk(
    _ path: TreePath, _ directory: InodeNumber, subdirectories: Int
  ) throws {
    var expected: [FileName: TreeListing.Item] = [:]
    var listing = view.list(path.bytes)
    while let item = try listing.next() { expected[FileName(item.name)] = item }
    var found = 0
    var cookie = EntryCookie.start
    while true {
      let page = try rows.page(of: directory, after: cookie, limit: 512)
      guard let last = page.last else { break }
      cookie = last.cookie
      for entry in page {
        let child = path.appending(entry.name)
        if entry.inode.record.isDirectory { found += 1 }
        guard let item = expected.removeValue(forKey: entry.name) else {
          fail(child, "the map shows nothing here")
          continue
        }
        try compare(entry, item, child, InodePlace(parent: directory, cookie: entry.cookie))
      }
    }
    for name in expected.keys { fail(path.appending(name), "it has no entry") }
    if found != subdirectories { fail(path, "it says that it has \(subdirectories) directories") }
  }

  private mutating func compare(
    _ entry: BaseEntry, _ item: TreeListing.Item, _ path: TreePath, _ place: InodePlace
  ) throws {
    let record = InodeRecord(item.entry, changed: entry.inode.record.changed)
    let told = entry.inode.record
    let isSame =
      told.attributes.linkID == nil ? record.isRecordedAs(told) : record.hasSameContent(as: told)
    if !isSame { fail(path, "\(told) is not what the map has: \(record)") }
    if entry.key != item.entry?.key(besides: path) { fail(path, "it has another key") }
    let first = rows.cookies.first(of: entry.name)
    if entry.cookie < first || entry.cookie > CookieHash.last(of: first) {
      fail(path, "it has the cookie of another name")
    }
    guard let row = try rows.inode(entry.inode.number) else { return fail(path, "no inode") }
    if told.isDirectory {
      directories += 1
      inodes += 1
      if row.place != place { fail(path, "the directory has another name") }
      try walk(path, entry.inode.number, subdirectories: entry.inode.links)
    } else {
      values += 1
      try compareFile(entry, row, item.entry?.attributes ?? told.attributes, path, place)
    }
  }

  private mutating func compareFile(
    _ entry: BaseEntry, _ row: TreeRows.InodeRow, _ attributes: Attributes, _ path: TreePath,
    _ place: InodePlace
  ) throws {
    let (number, record) = (entry.inode.number, entry.inode.record)
    let isFirst = names.updateValue((names[number] ?? 0) + 1, forKey: number) == nil
    // All at once, because a file may have 65,000.
    if isFirst, try rows.places(of: row, number).count != entry.inode.links {
      fail(path, "it says it has \(entry.inode.links) names")
    }
    if row.place != place, !(try rows.isFurther(place, of: number)) {
      fail(path, "its inode does not know this name")
    }
    if !isFirst { furtherNames += 1 }
    if isFirst { inodes += 1 }
    guard let id = record.attributes.linkID else {
      if !isFirst { fail(path, "it has another's number and no link id") }
      return
    }
    let others = linked[id] ?? []
    if isFirst {
      linkIDs += 1
      if !(try rows.linked(by: id)).contains(number) { fail(path, "its link id is not known") }
      let isKnown = others.contains {
        $0.attributes == attributes && $0.record.hasSameContent(as: record)
      }
      if isKnown { fail(path, "an equal file with its link id has another number") }
      linked[id, default: []].append(Linked(record: record, attributes: attributes, number: number))
    } else if others.contains(where: { $0.number == number && $0.attributes != attributes }) {
      fail(path, "it has the number of a file with other attributes")
    }
  }
}
