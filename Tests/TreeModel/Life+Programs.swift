package import Inodes
import LLVSCore
import TestSupport
package import WorkingTree

// What programs do.

extension Life {
  package mutating func perform(
    _ operation: Change.Operation, on numbers: [InodeNumber]
  ) throws {
    for binding in try overlay.bindings(of: numbers, over: recorded) { apply(binding) }
    apply(operation)
  }

  package mutating func apply(_ operation: Change.Operation) {
    let change = Change(time: .zero, operation)
    overlay.apply(change)
    journal.append(change)
  }

  package mutating func write(
    _ number: InodeNumber, replacing: Bool = false, seen: Epoch? = nil
  ) throws {
    if replacing { try perform(.resize(number, to: 0, [], seen: seen), on: [number]) }
    let mark = mark()
    for binding in try overlay.bindings(of: [number], over: recorded) { apply(binding) }
    let size = overlay.nodes[number]?.file?.content.size ?? 0
    let extent = Extent(start: size, length: Mark.length, offset: 0, source: UInt32(mark))
    try perform(.write(number, extent, [], seen: seen), on: [number])
  }

  /// One thing that a program does.
  package mutating func act() throws {
    let before = visible()
    let shown = shown()
    unseen = []
    let files = shown.filter { $0.value != nil }.keys.sorted()
    let directories = [""] + shown.filter { $0.value == nil }.keys.sorted()
    let path = ModelPath.join(
      directories.randomElement(using: &random) ?? "",
      ["a", "b", "c", "d", "e"].randomElement(using: &random) ?? "a")
    let file = files.randomElement(using: &random)
    switch random.unit() {
    case ..<0.22: try create(path, shown)
    case ..<0.32:
      guard let file else { return }
      log.append("write \(file)")
      let number = number(file)
      try write(number)
      if random.chance(0.85) { try perform(.save(number), on: []) }
    case ..<0.42: try makeDirectory(path, shown)
    case ..<0.52:
      guard let file else { return }
      log.append("unlink \(file)")
      let number = number(file)
      let place = place(file)
      try perform(
        .unlink(place, of: number, isKept: isHeld(number)), on: [number, place.directory])
    case ..<0.58: try removeDirectory(directories)
    case ..<0.75: try rename(shown.keys.sorted(), to: path, shown)
    case ..<0.79: try exchange(shown)
    case ..<0.83: try link(file, path, shown)
    default: try useHandle(file)
    }
    let gone = before.subtracting(visible()).map(\.mark)
    removed.formUnion(gone)
    dropped.formUnion(Set(gone).subtracting(unseen))
  }

  /// Notes what the version of an epoch lacks of a file's bytes: a program that saw only that one replaces the file.
  private mutating func noteUnseen(_ path: String, since epoch: Epoch?, _ shown: Set<Int>) {
    guard let epoch, let version = table[epoch] else { return }
    unseen = shown.subtracting(store.maps[version].tree[path]?.marks ?? [])
  }

  package struct Visible: Hashable {
    package var path: String
    package var mark: Int
  }

  package func visible() -> Set<Visible> {
    var all: Set<Visible> = []
    for (path, marks) in shown() {
      for mark in marks ?? [] { all.insert(Visible(path: path, mark: mark)) }
    }
    return all
  }

  package mutating func create(_ path: String, _ shown: [String: Set<Int>?]) throws {
    if let there = shown[path] {
      guard there != nil else { return }
      log.append("overwrite \(path)")
      let number = number(path)
      let (replaces, isReader) = (random.chance(0.5), random.chance(0.5))
      let seen = isReader && replaces ? lastSeen[path] ?? nil : nil
      noteUnseen(path, since: seen, there ?? [])
      try write(number, replacing: replaces, seen: seen)
      if random.chance(0.85) { try perform(.save(number), on: []) }
      if seen != nil { lastSeen[path] = .some(nil) }
      return
    }
    log.append("create \(path)")
    let place = place(path)
    let number = allot()
    try perform(
      .create(
        number, at: place, kind: .regular, attributes: Attributes(), content: FileContent(),
        isSaved: false, seen: nil), on: [place.directory])
    try write(number)
    if random.chance(0.8) { try perform(.save(number), on: []) }
  }

  package mutating func makeDirectory(_ path: String, _ shown: [String: Set<Int>?]) throws {
    guard shown[path] == nil else { return }
    log.append("mkdir \(path)")
    let place = place(path)
    try perform(
      .create(
        allot(), at: place, kind: .directory, attributes: Attributes(), content: FileContent(),
        isSaved: true, seen: nil), on: [place.directory])
  }

  package mutating func removeDirectory(_ directories: [String]) throws {
    let empty = directories.filter {
      !$0.isEmpty && children(number($0), overlay, recorded).isEmpty
    }
    guard let path = empty.randomElement(using: &random) else { return }
    log.append("rmdir \(path)")
    let directory = number(path)
    let name = place(path)
    try perform(.rmdir(name, of: directory), on: [directory, name.directory])
  }

  package mutating func rename(
    _ all: [String], to path: String, _ shown: [String: Set<Int>?]
  ) throws {
    guard let from = all.randomElement(using: &random), from != path,
      !ModelPath.isAtOrBelow(path, from)
    else { return }
    let isFile = shown[from] ?? nil != nil
    let (one, other) = (number(from), number(path))
    if let there = shown[path] {
      guard isFile == (there != nil), one != other else { return }
      if !isFile, !children(other, overlay, recorded).isEmpty { return }
      if ModelPath.isAtOrBelow(from, path) { return }
    }
    let seen = isFile && random.chance(0.5) ? lastSeen[path] ?? nil : nil
    log.append("rename \(from) \(path)\(seen == nil ? "" : " unseen")")
    noteUnseen(path, since: seen, shown[path]?.flatMap { $0 } ?? [])
    let over = shown[path] == nil ? nil : other
    let (source, target) = (place(from), place(path))
    try perform(
      .rename(
        one, from: source, to: target, over: over, isKept: over.map(isHeld) ?? false, seen: seen),
      on: [one, source.directory, target.directory] + (over.map { [$0] } ?? []))
    if seen != nil { lastSeen[path] = .some(nil) }
  }

  package mutating func exchange(_ shown: [String: Set<Int>?]) throws {
    let all = shown.keys.sorted()
    guard let from = all.randomElement(using: &random),
      let path = all.randomElement(using: &random), !ModelPath.isAtOrBelow(path, from),
      !ModelPath.isAtOrBelow(from, path)
    else { return }
    let (one, other) = (number(from), number(path))
    guard one != other else { return }
    log.append("exchange \(from) \(path)")
    try perform(
      .exchange(one, at: place(from), with: other, otherAt: place(path)), on: [one, other])
  }

  package mutating func link(
    _ file: String?, _ path: String, _ shown: [String: Set<Int>?]
  ) throws {
    guard let file, shown[path] == nil else { return }
    links += 1
    log.append("link \(file) \(path)")
    let number = number(file)
    let place = place(path)
    try perform(
      .link(
        number, at: place, id: ModelLink.id(links), seen: nil),
      on: [number, place.directory])
  }

  package mutating func useHandle(_ file: String?) throws {
    switch random.unit() {
    case ..<0.3:
      guard let file else { return }
      log.append("open \(file)")
      let number = number(file)
      for binding in try overlay.bindings(of: [number], over: recorded) { apply(binding) }
      handles.append(number)
    case ..<0.65:
      guard let number = handles.randomElement(using: &random) else { return }
      log.append("write held \(number.rawValue)")
      try write(number)
      if random.chance(0.8) { try perform(.save(number), on: []) }
    case ..<0.82:
      guard let index = handles.indices.randomElement(using: &random) else { return }
      try close(index)
    default:
      guard let file else { return }
      lastSeen[file] = .some(nil)
    }
  }

  package mutating func close(_ index: Int) throws {
    let number = handles.remove(at: index)
    log.append("close \(number.rawValue)")
    try perform(.save(number), on: [])
    if !handles.contains(number) { apply(.release(number)) }
  }
}
