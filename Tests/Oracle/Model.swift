import Foundation

/// What a worker's files and directories are, in memory. A worker changes only names of its own, so nobody else
/// changes what the model says.
struct Model: Codable {
  /// A file, a directory or a symbolic link.
  struct Node: Codable {
    var kind: NodeKind
    var mode: UInt32
    /// The bytes of a file, or the target of a symbolic link.
    var bytes = Data()
    var entries: [String: Int] = [:]
    /// The directory that a directory is in; nil for the top and once it is removed.
    var parent: Int?
    /// The names of what is no directory.
    var links = 0
    var extended: [String: Data] = [:]
    /// What stat(2) told and must tell again.
    var number: UInt64?
    var modified: Time?
    var changed: Time?
    /// The last ctime that stat(2) told; no later one is before it.
    var lastChanged: Time?
    /// True if the mtime is the one that utimensat(2) set.
    var hasSetTime = false
  }

  struct Handle {
    var node: Int
    var flags: OpenFlags
  }

  /// The directories in which several workers, and both machines, have names: the top, and one in it.
  static let shared = [0: "", 1: "common"]

  let worker: Int
  var nodes: [Int: Node] = [
    0: Node(kind: .directory, mode: 0o755, entries: ["common": 1]),
    1: Node(kind: .directory, mode: 0o755, parent: 0),
  ]
  var handles: [Int: Handle] = [:]
  /// The working directory.
  var current = 0
  private var last = 1

  private enum CodingKeys: CodingKey { case worker, nodes, last }

  init(worker: Int) { self.worker = worker }

  /// The beginning of the worker's names in shared directories.
  var prefix: String { "w\(worker)-" }

  // MARK: - Looking

  subscript(_ number: Int) -> Node {
    get { nodes[number] ?? Node(kind: .file, mode: 0) }
    set { nodes[number] = newValue }
  }

  func isShared(_ number: Int) -> Bool { Self.shared[number] != nil }

  func find(_ place: Place) -> Int? {
    place.name == "." ? place.directory : self[place.directory].entries[place.name]
  }

  /// The names that lead from one directory down to another; nil where none do.
  func names(from above: Int, to directory: Int) -> [String]? {
    var names: [String] = []
    var one = directory
    while one != above {
      guard let parent = self[one].parent,
        let name = self[parent].entries.first(where: { $0.value == one })?.key
      else { return nil }
      names.insert(name, at: 0)
      one = parent
    }
    return names
  }

  func isReachable(_ directory: Int) -> Bool { names(from: 0, to: directory) != nil }

  /// The directories that have a path, the shared ones included.
  var directories: [Int] {
    nodes.keys.filter { self[$0].kind == .directory && isReachable($0) }.sorted()
  }

  /// The worker's names that lead to something, in one order.
  var places: [Place] {
    directories.flatMap { directory in
      self[directory].entries.filter { !isShared($0.value) }.keys.sorted()
        .map { Place(directory: directory, name: $0) }
    }
  }

  func path(_ place: Place) -> String {
    let above = names(from: 0, to: place.directory).map { $0 + [place.name] }
    return above?.joined(separator: "/") ?? "(removed \(place.directory))/\(place.name)"
  }

  func status(of number: Int) -> Status {
    let node = self[number]
    let isDirectory = node.kind == .directory
    var links: Int? = node.links
    if isDirectory {
      links = node.parent == nil ? 0 : 2 + node.entries.values.count { self[$0].kind == .directory }
    }
    return Status(
      kind: node.kind, mode: node.mode, links: isShared(number) ? nil : links,
      size: isDirectory ? nil : node.bytes.count, number: node.number,
      modified: isShared(number) ? nil : node.modified,
      changed: isShared(number) ? nil : node.changed,
      earliestChange: isShared(number) ? nil : node.lastChanged)
  }

  // MARK: - Changing

  mutating func make(_ kind: NodeKind, mode: UInt32, at place: Place) -> Int {
    last += 1
    nodes[last] = Node(kind: kind, mode: mode)
    put(last, at: place)
    return last
  }

  mutating func put(_ number: Int, at place: Place) {
    self[place.directory].entries[place.name] = number
    if self[number].kind == .directory {
      self[number].parent = place.directory
    } else {
      self[number].links += 1
    }
    self[number].changed = nil
    wrote(place.directory)
  }

  mutating func take(from place: Place) {
    guard let number = self[place.directory].entries.removeValue(forKey: place.name) else { return }
    if self[number].kind == .directory {
      self[number].parent = nil
    } else {
      self[number].links -= 1
    }
    self[number].changed = nil
    wrote(place.directory)
    forgetUnused(number)
  }

  /// Bytes, or names in a directory, became others.
  mutating func wrote(_ number: Int) {
    self[number].modified = nil
    self[number].changed = nil
    self[number].hasSetTime = false
  }

  mutating func forgetUnused(_ number: Int) {
    let node = self[number]
    let hasName = node.kind == .directory ? node.parent != nil : node.links > 0
    guard !hasName, !isShared(number), current != number,
      !handles.values.contains(where: { $0.node == number })
    else { return }
    nodes[number] = nil
  }

  // MARK: - What a call told

  /// Takes over what a node's status is from now on.
  mutating func learn(_ number: Int, _ status: Status) {
    guard nodes[number] != nil else { return }
    self[number].number = status.number
    self[number].modified = status.modified
    self[number].changed = status.changed
    self[number].lastChanged = status.changed
  }

  mutating func learn(_ directory: Int, _ names: [String: ListedName]) {
    for (name, listed) in names {
      guard let number = self[directory].entries[name] else { continue }
      self[number].number = listed.number
    }
  }

  // MARK: - Other mounts

  /// The same files with nothing open, as another mount shows them; on another machine with other inode numbers.
  func mountedAgain(elsewhere: Bool = false) -> Model {
    var model = self
    model.current = 0
    model.handles = [:]
    for number in model.nodes.keys {
      model.forgetUnused(number)
      guard let node = model.nodes[number] else { continue }
      if !node.hasSetTime { model[number].modified = nil }
      model[number].changed = nil
      if elsewhere { (model[number].number, model[number].lastChanged) = (nil, nil) }
    }
    return model
  }
}
