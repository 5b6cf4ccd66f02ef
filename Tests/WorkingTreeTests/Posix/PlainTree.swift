import Inodes
import LLVSCore
import TreeNames
import WorkingTree

@testable import TreeSupport

/// The rules of POSIX for names: directories as plain dictionaries, beside a working tree that is given the same calls.
struct PlainTree {
  /// A file or directory.
  struct Node {
    var kind: EntryKind
    /// The number of names; of a directory 1, or 0 once it was removed.
    var names = 1
    /// The directory above a directory.
    var parent: InodeNumber?
    /// The names in a directory.
    var entries: [String: InodeNumber] = [:]
    /// The number of look-ups that the kernel has not forgotten.
    var lookups = 0
    /// The number of handles that are open.
    var handles = 0

    var isDirectory: Bool { kind == .directory }
  }

  /// A name in a directory.
  struct Place: Hashable {
    var directory: InodeNumber
    var name: String
  }

  private(set) var nodes: [InodeNumber: Node] = [.root: Node(kind: .directory, parent: .root)]

  subscript(number: InodeNumber) -> Node? { nodes[number] }

  /// The inodes, in order.
  var numbers: [InodeNumber] { nodes.keys.sorted() }

  /// Returns the inode at a name; nil if nothing is there.
  func at(_ place: Place) -> InodeNumber? { nodes[place.directory]?.entries[place.name] }

  /// The number of subdirectories of a directory.
  func subdirectories(of directory: InodeNumber) -> Int {
    nodes[directory]?.entries.values.count { nodes[$0]?.isDirectory ?? false } ?? 0
  }

  // MARK: - Checks

  private func checkDirectory(_ number: InodeNumber) throws(FSError) {
    guard let node = nodes[number] else { throw .stale }
    guard node.isDirectory else { throw .notDirectory }
  }

  private func checkHasNames(_ directory: InodeNumber) throws(FSError) {
    try checkDirectory(directory)
    guard nodes[directory]?.names != 0 else { throw .noEntry }
  }

  func present(_ place: Place) throws(FSError) -> InodeNumber {
    try checkDirectory(place.directory)
    guard let number = at(place) else { throw .noEntry }
    return number
  }

  private func isInside(_ directory: InodeNumber, _ above: InodeNumber) -> Bool {
    var number = directory
    while number != above {
      guard number != .root, let parent = nodes[number]?.parent else { return false }
      number = parent
    }
    return true
  }

  private func isEmpty(_ number: InodeNumber) -> Bool { nodes[number]?.entries.isEmpty ?? true }

  private func isDirectory(_ number: InodeNumber) -> Bool { nodes[number]?.isDirectory ?? false }

  // MARK: - Holding

  /// The kernel knows an inode once more, or a program opened it.
  mutating func hold(_ number: InodeNumber, lookups: Int = 0, handles: Int = 0) {
    nodes[number]?.lookups += lookups
    nodes[number]?.handles += handles
    drop(number)
  }

  /// A file without a name goes, unless somebody holds it. Removed directories stay known.
  private mutating func drop(_ number: InodeNumber) {
    guard let node = nodes[number], !node.isDirectory, node.names == 0, node.lookups == 0,
      node.handles == 0
    else { return }
    nodes[number] = nil
  }

  private mutating func lose(_ number: InodeNumber) {
    nodes[number]?.names -= 1
    if isDirectory(number) { nodes[number]?.parent = nil }
    drop(number)
  }

  // MARK: - Calls

  /// Throws what making a name must.
  func checkMake(_ place: Place) throws(FSError) {
    try checkHasNames(place.directory)
    guard at(place) == nil else { throw .exists }
  }

  mutating func make(_ kind: EntryKind, _ number: InodeNumber, at place: Place) {
    nodes[number] = Node(kind: kind, parent: kind == .directory ? place.directory : nil)
    nodes[place.directory]?.entries[place.name] = number
  }

  mutating func unlink(_ place: Place) throws(FSError) {
    let number = try present(place)
    guard !isDirectory(number) else { throw .isDirectory }
    nodes[place.directory]?.entries[place.name] = nil
    lose(number)
  }

  mutating func removeDirectory(_ place: Place) throws(FSError) {
    let number = try present(place)
    guard isDirectory(number) else { throw .notDirectory }
    guard isEmpty(number) else { throw .notEmpty }
    nodes[place.directory]?.entries[place.name] = nil
    lose(number)
  }

  mutating func link(_ number: InodeNumber, at place: Place) throws(FSError) {
    try checkMake(place)
    guard let node = nodes[number] else { throw .stale }
    guard !node.isDirectory else { throw .notPermitted }
    guard node.names > 0 else { throw .noEntry }
    nodes[number]?.names += 1
    nodes[place.directory]?.entries[place.name] = number
  }

  mutating func rename(_ from: Place, to: Place, _ mode: RenameMode) throws(FSError) {
    let number = try present(from)
    try checkHasNames(to.directory)
    let over = at(to)
    try check(number, from, over, to, mode)
    guard over != number else { return }
    nodes[from.directory]?.entries[from.name] = mode == .exchange ? over : nil
    nodes[to.directory]?.entries[to.name] = number
    if isDirectory(number) { nodes[number]?.parent = to.directory }
    guard let over else { return }
    if mode != .exchange {
      lose(over)
    } else if isDirectory(over) {
      nodes[over]?.parent = from.directory
    }
  }

  private func check(
    _ number: InodeNumber, _ from: Place, _ over: InodeNumber?, _ to: Place, _ mode: RenameMode
  ) throws(FSError) {
    if mode == .noReplace, over != nil { throw .exists }
    if mode == .exchange, over == nil { throw .noEntry }
    if isDirectory(number), isInside(to.directory, number) { throw .invalid }
    guard let over, over != number else { return }
    let isAbove = isDirectory(over) && isInside(from.directory, over)
    if mode == .exchange {
      if isAbove { throw .invalid }
      return
    }
    if isAbove { throw .notEmpty }
    if isDirectory(number), !isDirectory(over) { throw .notDirectory }
    if !isDirectory(number), isDirectory(over) { throw .isDirectory }
    if isDirectory(over), !isEmpty(over) { throw .notEmpty }
  }
}
