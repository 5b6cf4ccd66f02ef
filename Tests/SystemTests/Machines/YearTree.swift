import Platform

/// A tree as a model has it: what is under each name, and which names are links of one file.
struct YearTree {
  struct Item: Equatable {
    var kind: FileStatus.Kind
    var mode: UInt32
    /// The bytes of a file, the target of a symbolic link.
    var bytes: [UInt8] = []
  }

  private(set) var names: [String: UInt64] = [:]
  private(set) var items: [UInt64: Item] = [:]
  private var last: UInt64 = 0

  init() {}

  /// Reads a directory, without `.llvs`.
  init(reading directory: String) throws {
    try read(directory, below: "")
  }

  private mutating func read(_ directory: String, below prefix: String) throws {
    for name in try FileSystem.list(directory) where prefix + name != ".llvs" {
      let path = "\(directory)/\(name)"
      let status = try FileSystem.status(path, following: false)
      var item = Item(kind: status.kind, mode: status.mode)
      switch status.kind {
      case .regular: item.bytes = try FileSystem.read(path, atMost: 1 << 24)
      case .symlink: item.bytes = Array(try FileSystem.readlink(path).utf8)
      default: break
      }
      names[prefix + name] = status.inode
      items[status.inode] = item
      last = max(last, status.inode)
      if status.kind == .directory { try read(path, below: prefix + name + "/") }
    }
  }

  // MARK: - What is there

  subscript(_ name: String) -> Item? {
    get { names[name].flatMap { items[$0] } }
    set {
      // Changes every name of a file.
      guard let number = names[name], let newValue else { return }
      items[number] = newValue
    }
  }

  /// The names of the file that a name is of.
  func links(of name: String) -> Set<String> {
    guard let number = names[name] else { return [] }
    return Set(names.filter { $0.value == number }.keys)
  }

  func names(of kind: FileStatus.Kind) -> [String] {
    names.keys.filter { self[$0]?.kind == kind }.sorted()
  }

  /// A name, and the names below it.
  func below(_ name: String) -> Set<String> {
    Set(names.keys.filter { $0 == name || $0.hasPrefix(name + "/") })
  }

  /// The part of the tree whose names are chosen.
  func filter(_ isChosen: (String) -> Bool) -> YearTree {
    var part = self
    part.names = names.filter { isChosen($0.key) }
    part.removeUnnamed()
    return part
  }

  // MARK: - Changes

  mutating func make(_ name: String, _ item: Item) {
    last += 1
    names[name] = last
    items[last] = item
    removeUnnamed()
  }

  mutating func link(_ old: String, _ new: String) { names[new] = names[old] }

  mutating func remove(_ name: String) {
    for name in below(name) { names[name] = nil }
    removeUnnamed()
  }

  mutating func rename(_ old: String, _ new: String) {
    // rename(2) does nothing where both names are one file's.
    guard names[old] != names[new] else { return }
    names[new] = nil
    for name in below(old) {
      names[new + name.dropFirst(old.count)] = names.removeValue(forKey: name)
    }
    removeUnnamed()
  }

  mutating func exchange(_ first: String, _ second: String) {
    (names[first], names[second]) = (names[second], names[first])
  }

  /// Adds what another tree has, under names that are not here.
  mutating func add(_ other: YearTree) {
    let step = last
    for (name, number) in other.names { names[name] = number + step }
    for (number, item) in other.items { items[number + step] = item }
    last += other.last
  }

  private mutating func removeUnnamed() {
    let used = Set(names.values)
    items = items.filter { used.contains($0.key) }
  }

  // MARK: - Comparing

  /// Says where another tree differs, except at some names.
  func difference(from other: YearTree, except: Set<String> = []) -> String? {
    for name in Set(names.keys).union(other.names.keys).subtracting(except).sorted() {
      guard let mine = self[name] else { return "\(name) is not there" }
      guard let theirs = other[name] else { return "\(name) is there" }
      guard mine == theirs else { return "\(name): \(mine.brief) instead of \(theirs.brief)" }
    }
    for (name, number) in names where !except.contains(name) {
      let (mine, theirs) = (links(of: number), other.links(of: other.names[name] ?? 0))
      let (known, wanted) = (mine.subtracting(except), theirs.subtracting(except))
      if known != wanted { return "\(name): links \(known.sorted()) instead of \(wanted.sorted())" }
    }
    return nil
  }

  private func links(of number: UInt64) -> Set<String> {
    items[number]?.kind == .regular ? Set(names.filter { $0.value == number }.keys) : []
  }
}

extension YearTree.Item {
  fileprivate var brief: String {
    let text = String(decoding: bytes.prefix(40), as: UTF8.self)
    return "\(kind) \(String(mode, radix: 8)), \(bytes.count) bytes \(text.debugDescription)"
  }
}
