import Grammar
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// The parts of listings below `.llvs`.
enum MetaListing {
  struct Name {
    var name: [UInt8]
    var kind: EntryKind
    var numbering: MetaNodes.Numbering
    var found: MetaTree.Found?
    /// The position before the next name.
    var position: UInt64 = 0
  }

  /// The names of a version's directory. Positions count names; going back starts again.
  struct OfSnapshot {
    private let view: TreeView
    private let number: VersionNumber
    private let path: [UInt8]
    private let base: Int
    private var listing: TreeListing
    private var position: UInt64 = 0

    init(_ view: TreeView, _ number: VersionNumber, _ path: [UInt8], _ base: Int) {
      self.view = view
      self.number = number
      self.path = path
      self.base = base
      listing = view.list(path)
    }

    mutating func next(after wanted: UInt64, _ tree: MetaTree) throws(FSError) -> Name? {
      if wanted < position {
        listing = view.list(path)
        position = 0
      }
      while true {
        guard let item = try FSError.translating(try listing.next()) else { return nil }
        position += 1
        if position > wanted { return try name(item, tree) }
      }
    }

    private func name(_ item: TreeListing.Item, _ tree: MetaTree) throws(FSError) -> Name {
      let found: MetaTree.Found
      if item.kind != .directory, let entry = item.entry {
        found = MetaTree.found(try tree.linked(entry, in: view), in: number)
      } else {
        found = MetaTree.Found(
          .directory(number, path: joined(path, item.name), base: base), entry: item.entry)
      }
      return Name(
        name: item.name, kind: item.kind, numbering: found.numbering, found: found,
        position: position)
    }
  }

  /// The kept versions by number. A subdirectory shows only the versions that changed it.
  struct OfVersions {
    private static let pageLimit = 256
    private let path: [UInt8]
    private let isTop: Bool
    private var page: ArraySlice<VersionLine> = []
    private var position: UInt64 = 0

    init(_ tree: MetaTree, _ node: MetaNode) throws(FSError) {
      path = try tree.rootPath(of: node)
      isTop = node.root == TreeSession.rootInode
    }

    mutating func next(after wanted: UInt64, _ tree: MetaTree) throws(FSError) -> Name? {
      if wanted != position {
        page = []
        position = wanted
      }
      while let line = try advance(tree) {
        position = UInt64(line.number.rawValue)
        if !isTop {
          let isShown = try FSError.translating(try tree.changes(line, below: path))
          guard isShown else { continue }
        }
        let numbering: MetaNodes.Numbering = isTop ? .version(line.number.rawValue) : .directory
        return Name(
          name: Array(line.name.utf8), kind: .directory, numbering: numbering,
          found: MetaTree.Found(
            .directory(line.number, path: path, base: path.count), numbering: numbering),
          position: position)
      }
      return nil
    }

    private mutating func advance(_ tree: MetaTree) throws(FSError) -> VersionLine? {
      var after = UInt32(clamping: position)
      while page.isEmpty {
        let (lines, forgotten) = try FSError.wrapping { () throws(StoreError) in
          (
            try tree.store.versionLines(after: after, limit: Self.pageLimit),
            try tree.store.forgottenVersions()
          )
        }
        guard let last = lines.last else { return nil }
        after = last.number.rawValue
        page = lines.filter { !forgotten.contains($0.number) }[...]
      }
      return page.popFirst()
    }
  }

  /// The local days with versions, newest first; positions count back from a day in the far future.
  struct OfDays {
    /// The last possible day of a version: timestamps are below 2^33 seconds from 2001.
    private static let lastDay: Int64 = 200_000

    func next(after wanted: UInt64, _ tree: MetaTree) throws(FSError) -> Name? {
      var position = wanted
      while let (text, day) = try day(after: position, tree) {
        position = UInt64(Self.lastDay - day)
        let expression = TimeExpression(
          now: MetaTree.instant(Attributes.Time.now), calendar: tree.calendar)
        // A version of another store may be older than all versions that this tree showed.
        guard let instant = expression.instant(text), try tree.shown(at: instant) != nil else {
          continue
        }
        var name = Name(link: Array(text.utf8))
        name.position = position
        return name
      }
      return nil
    }

    /// Returns the newest day with versions before a position.
    private func day(
      after position: UInt64, _ tree: MetaTree
    ) throws(FSError) -> (String, Int64)? {
      let before = Self.lastDay - Int64(clamping: min(position, 1_000_000))
      let start = tree.calendar.utc(local: before * 86_400)
      let newest = try FSError.wrapping { () throws(StoreError) -> VersionRecord? in
        let first = try tree.store.keptVersionsNewestFirst(before: nil, limit: 1).first
        guard position > 0, var place = first else { return first }
        place.start(at: Double(start - 978_307_200))
        return try tree.store.keptVersionsNewestFirst(before: place, limit: 1).first
      }
      guard let newest else { return nil }
      let seconds = Int64(newest.timestamp.rounded(.down)) + 978_307_200
      let local = seconds + tree.calendar.offset(seconds)
      let found = local >= 0 ? local / 86_400 : (local + 1) / 86_400 - 1
      // A clock that was set back across midnight could give the same day twice.
      let day = min(found, position == 0 ? found : before - 1)
      guard day < Self.lastDay, let date = CalendarTime(utc: day * 86_400)?.date else { return nil }
      return (date, day)
    }
  }

  /// The revisions of the value at a path, then the head's names below it.
  struct OfHistory {
    private let revisions: [Name]
    private let view: TreeView
    private let path: [UInt8]
    private var below: OfSnapshot

    init(_ tree: MetaTree, _ path: [UInt8]) throws(FSError) {
      self.path = path
      view = tree.live.shownBase
      below = OfSnapshot(view, VersionNumber(0), path, 0)
      var names: [Name] = []
      for (name, entry) in try tree.revisions(at: path) {
        names.append(
          Name(name: name, kind: entry.kind, numbering: .revision(entry.revision)))
      }
      revisions = names
    }

    mutating func next(after wanted: UInt64, _ tree: MetaTree) throws(FSError) -> Name? {
      let count = UInt64(revisions.count)
      if wanted < count {
        var name = revisions[Int(wanted)]
        name.position = wanted + 1
        return name
      }
      guard let item = try below.next(after: wanted - count, tree) else { return nil }
      return Name(
        name: try tree.historyName(of: item.name), kind: .directory, numbering: .directory,
        found: MetaTree.Found(.history(path: joined(path, item.name))),
        position: count + item.position)
    }
  }
}

extension MetaListing.Name {
  init(link name: [UInt8]) { self.init(name: name, kind: .symlink, numbering: .other) }

  init(_ name: String, _ kind: EntryKind) {
    self.init(
      name: Array(name.utf8), kind: kind, numbering: kind == .directory ? .directory : .other)
  }
}
