import Inodes
import LLVSCore
import Synchronization
import TreeNames

/// The answers of the recorded tree and the clock to one call, so that it can decide under a lock without reading.
///
/// A call decides under the tree's locks with ``isReading`` false: a question that was not read is noted and fails.
/// The call then leaves the locks, reads with ``readMissing()``, and decides again. Another head makes it forget
/// the rows.
///
/// - Concurrency: one thread at a time; the lock is for the compiler.
final class RememberedBase: Base {
  private enum Question: Hashable {
    case child(InodeName)
    case inode(InodeNumber)
    case names(InodeNumber)
    case page(InodeNumber, after: EntryCookie, limit: Int)
    case count(InodeNumber, atMost: Int)
    case zeros(StoredContent)
    case extended(InodeNumber)
    case extendedAt(TreePath, VersionNumber)
  }

  private enum Answer {
    case child(BaseEntry?)
    case inode(BaseInode?)
    case names([InodeName])
    case page([BaseEntry])
    case count(Int)
    case zeros(UInt64)
    case extended([Attributes.Extended])
  }

  private struct State {
    var publication: UInt64 = 0
    /// The first name that was read: most calls read no more, and a dictionary for one costs more than reading it.
    private(set) var place: InodeName?
    private(set) var entry: BaseEntry?
    var answers: [Question: Answer] = [:]
    private(set) var missing: Question?
    /// Optional questions are slow to copy and to destroy.
    private(set) var isMissing = false
    var time = Attributes.Time(seconds: 0, nanoseconds: 0)

    mutating func miss(_ question: Question) { (missing, isMissing) = (question, true) }

    mutating func dropMissing() {
      if isMissing { (missing, isMissing) = (nil, false) }
    }

    mutating func forget() {
      if place != nil { (place, entry) = (nil, nil) }
      if !answers.isEmpty { answers = [:] }
    }

    mutating func note(_ question: Question, _ answer: Answer) {
      if place == nil, case .child(let place) = question, case .child(let entry) = answer {
        (self.place, self.entry) = (place, entry)
      } else {
        answers[question] = answer
      }
    }
  }

  private let base: any Base
  private let contents: StoreContents
  private let head: any HeadReading
  private let recent: RecentInodes
  private let directories: RecentDirectories
  private let state = Mutex(State())

  init(
    _ base: any Base, _ contents: StoreContents, _ head: any HeadReading,
    _ recent: RecentInodes, _ directories: RecentDirectories
  ) {
    self.base = base
    self.contents = contents
    self.head = head
    self.recent = recent
    self.directories = directories
  }

  var batch: UInt64 { base.batch }

  /// Begins to decide; forgets what was read of another head.
  func begin(publication: UInt64) {
    state.withLock { state in
      state.dropMissing()
      guard state.publication != publication else { return }
      state.forget()
      state.publication = publication
    }
  }

  /// Forgets all, for another call.
  func reset() {
    state.withLock { state in
      state.dropMissing()
      state.forget()
    }
  }

  /// The time of the call's change.
  var time: Attributes.Time { state.withLock { $0.time } }

  func readClock() -> Attributes.Time {
    let now = Attributes.Time.now
    state.withLock { $0.time = now }
    return now
  }

  func isOf(publication: UInt64) -> Bool { state.withLock { $0.publication == publication } }
  func dropMissing() { state.withLock { $0.dropMissing() } }
  var isMissing: Bool { state.withLock { $0.isMissing } }

  /// Reads what was noted as missing; call without the tree's locks.
  func readMissing() throws(FSError) {
    guard let question = state.withLock({ $0.missing }) else { return }
    let answer = try read(question)
    var above: [Question: Answer] = [:]
    if case .names(let names) = answer { above = try readAbove(names) }
    let publication = state.withLock { state in
      if !above.isEmpty { state.answers.merge(above) { $1 } }
      state.note(question, answer)
      return state.publication
    }
    switch (question, answer) {
    case (.child(let place), .child(let entry)):
      if let entry {
        recent.note(RecentInodes.Known(entry.inode, at: place, publication: publication))
      }
      try readWhole(place.directory, publication)
    case (.page(let directory, .start, let limit), .page(let page)) where page.count < limit:
      directories.note(
        RecentDirectories.Listing(page), of: directory, publication: publication)
    case (_, .inode(let inode?)): recent.note(inode, publication: publication)
    default: break
    }
  }

  /// Reads a directory whole if programs look up name after name in it.
  private func readWhole(_ directory: InodeNumber, _ publication: UInt64) throws(FSError) {
    guard let most = directories.noteLookUp(in: directory, publication: publication) else { return }
    let names = try FSError.translating(try base.count(of: directory, atMost: most + 1))
    guard names <= most else { return }
    // One statement, so all rows are of one publication.
    let page = try FSError.translating(try base.page(of: directory, after: .start, limit: most + 1))
    guard page.count <= most else { return }
    directories.note(
      RecentDirectories.Listing(page), of: directory, publication: publication)
  }

  private func read(_ question: Question) throws(FSError) -> Answer {
    switch question {
    case .child(let place):
      .child(try FSError.translating(try base.child(of: place.directory, named: place.name)))
    case .inode(let number): .inode(try FSError.translating(try base.inode(number)))
    case .names(let number): .names(try FSError.translating(try base.names(of: number)))
    case .page(let directory, let cookie, let limit):
      .page(try FSError.translating(try base.page(of: directory, after: cookie, limit: limit)))
    case .count(let directory, let limit):
      .count(try FSError.translating(try base.count(of: directory, atMost: limit)))
    case .zeros(let stored): .zeros(try contents.zeroBytes(stored))
    case .extended(let number):
      .extended(
        try head.extended(at: try FSError.translating(try base.path(of: number)), in: nil))
    case .extendedAt(let path, let version): .extended(try head.extended(at: path, in: version))
    }
  }

  /// Reads the directories above an inode, for which its names will ask.
  private func readAbove(_ names: [InodeName]) throws(FSError) -> [Question: Answer] {
    var found: [Question: Answer] = [:]
    let publication = state.withLock { $0.publication }
    var next = names.count == 1 ? names[0].directory : .root
    for _ in 0..<4096 where next != .root {
      let number = next
      if let name = recent.name(of: number, publication: publication) {
        next = name.directory
        continue
      }
      guard state.withLock({ $0.answers[.names(number)] == nil }) else { break }
      let inode = try FSError.translating(try base.inode(number))
      let names = try FSError.translating(try base.names(of: number))
      if let inode, let name = names.first, names.count == 1 {
        recent.note(RecentInodes.Known(inode, at: name, publication: publication))
      }
      found[.inode(number)] = .inode(inode)
      found[.names(number)] = .names(names)
      next = names.first?.directory ?? .root
    }
    return found
  }

  private func answer(_ question: Question) throws(StoreError) -> Answer {
    let known = state.withLock { state -> Answer? in
      if let answer = state.answers[question] { return answer }
      state.miss(question)
      return nil
    }
    guard let known else { throw .busy("this has to be read first") }
    return known
  }

  func child(of directory: InodeNumber, named name: FileName) throws(StoreError) -> BaseEntry? {
    let (isFirst, first, publication) = state.withLock { state -> (Bool, BaseEntry?, UInt64) in
      guard let place = state.place, place.directory == directory, place.name == name else {
        return (false, nil, state.publication)
      }
      return (true, state.entry, state.publication)
    }
    if isFirst { return first }
    switch directories.child(of: directory, named: name, publication: publication) {
    case .absent: return nil
    case .entry(let found):
      note(found, InodeName(directory: directory, name: name), publication)
      return found.entry
    case .unknown: break
    }
    guard case .child(let entry) = try answer(.child(InodeName(directory: directory, name: name)))
    else { return nil }
    return entry
  }

  private func note(_ found: RecentDirectories.Found, _ place: InodeName, _ publication: UInt64) {
    guard recent.known(found.number, publication: publication)?.name == nil else { return }
    recent.note(RecentInodes.Known(found.entry.inode, at: place, publication: publication))
  }

  /// Returns the number of the inode at a name, as ``child(of:named:)`` without copies of the entry.
  func number(at place: InodeName) throws(StoreError) -> InodeNumber? {
    let (isFirst, number, publication) = state.withLock { state in
      let isFirst = state.place.map { $0 == place } ?? false
      return (isFirst, isFirst ? state.entry?.inode.number : nil, state.publication)
    }
    if isFirst { return number }
    switch directories.child(of: place.directory, named: place.name, publication: publication) {
    case .absent: return nil
    case .entry(let found):
      note(found, place, publication)
      return found.number
    case .unknown: break
    }
    guard case .child(let entry) = try answer(.child(place)) else { return nil }
    return entry?.inode.number
  }

  func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode? {
    try known(number)?.inode
  }

  /// Returns an inode in an object, which is not copied.
  func known(_ number: InodeNumber) throws(StoreError) -> RecentInodes.Known? {
    // Most are recent: no question has to be made and hashed for them.
    let publication = state.withLock { $0.publication }
    if let known = recent.known(number, publication: publication) { return known }
    guard case .inode(let inode?) = try answer(.inode(number)) else { return nil }
    return RecentInodes.Known(inode, publication: publication)
  }

  func names(of number: InodeNumber) throws(StoreError) -> [InodeName] {
    let publication = state.withLock { $0.publication }
    if let name = recent.name(of: number, publication: publication) { return [name] }
    guard case .names(let names) = try answer(.names(number)) else { return [] }
    return names
  }

  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(StoreError) -> [BaseEntry] {
    guard
      case .page(let page) = try answer(.page(directory, after: cookie, limit: limit))
    else { return [] }
    return page
  }

  func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int {
    guard case .count(let count) = try answer(.count(directory, atMost: limit)) else { return 0 }
    return count
  }

  /// Returns how many bytes of a value are zeros without room.
  func zeroBytes(of stored: StoredContent) throws(FSError) -> UInt64 {
    // Only a value of several chunks has holes.
    guard case .tree = stored.content else { return 0 }
    guard case .zeros(let zeros) = try FSError.translating(try answer(.zeros(stored)))
    else { return 0 }
    return zeros
  }

  /// Returns all extended attributes of a recorded inode from the head's map.
  func extended(of number: InodeNumber) throws(FSError) -> [Attributes.Extended] {
    try extended(.extended(number))
  }

  func extended(
    at path: TreePath, in version: VersionNumber
  ) throws(FSError) -> [Attributes.Extended] {
    try extended(.extendedAt(path, version))
  }

  private func extended(_ question: Question) throws(FSError) -> [Attributes.Extended] {
    guard case .extended(let extended) = try FSError.translating(try answer(question))
    else { return [] }
    return extended
  }
}
