import Foundation
import TestSupport

extension SeededRandom {
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func oneIn(_ number: Int) -> Bool { below(number) == 0 }
}

/// Chooses what a worker does: single calls, and sequences of them as programs make them.
struct Program {
  private static let letters = ["a", "b", "c", "d", "e", "f"]
  private static let attributes = ["user.a", "user.bb"]
  private static let mostHandles = 8
  private static let mostNames = 60
  /// The depth below which no directories are made.
  private static let depth = 4

  var dice: SeededRandom
  /// Where mappings are left out, since a daemon that dies ends who touches one.
  let maps: Bool
  private var waiting: [Call] = []
  /// A directory that gets many files next.
  private var filled: Place?
  private var nextHandle = 1

  init(dice: SeededRandom, maps: Bool) {
    self.dice = dice
    self.maps = maps
  }

  /// The next call; nil between two sequences, when nothing is under way.
  mutating func next(_ model: Model) -> Call? {
    while !waiting.isEmpty {
      let call = waiting.removeFirst()
      // Its file could not be opened.
      if let handle = call.handle, model.handles[handle] == nil { continue }
      return call
    }
    choose(model)
    return nil
  }

  mutating func abandon() {
    waiting = []
    filled = nil
  }

  // MARK: - What is chosen

  private mutating func directory(_ model: Model) -> Int {
    if dice.oneIn(8) { return model.current }
    return model.directories[dice.below(model.directories.count)]
  }

  private mutating func anyPlace(_ model: Model) -> Place {
    place(Self.letters[dice.below(Self.letters.count)], in: directory(model), model)
  }

  private func place(_ name: String, in directory: Int, _ model: Model) -> Place {
    Place(directory: directory, name: (model.isShared(directory) ? model.prefix : "") + name)
  }

  private mutating func place(_ model: Model) -> Place {
    let there = model.places
    return there.isEmpty || dice.oneIn(4) ? anyPlace(model) : there[dice.below(there.count)]
  }

  private mutating func place(_ kind: NodeKind, _ model: Model) -> Place {
    let there = model.places.filter { model.find($0).map { model[$0].kind } == kind }
    return there.isEmpty ? place(model) : there[dice.below(there.count)]
  }

  private mutating func handle(_ model: Model, _ needs: OpenFlags) -> Int? {
    let fitting = model.handles.filter { $0.value.flags.isSuperset(of: needs) }.keys.sorted()
    return fitting.isEmpty ? nil : fitting[dice.below(fitting.count)]
  }

  private mutating func bytes() -> Data {
    let count =
      switch dice.below(8) {
      case 0: 1 + dice.below(70_000)
      case 1: [1, 4095, 4096, 4097, 32_768, 32_769, 65_536][dice.below(7)]
      case 2, 3: 1 + dice.below(5000)
      default: 1 + dice.below(100)
      }
    var bytes = Data(capacity: count + 8)
    while bytes.count < count { withUnsafeBytes(of: dice.next()) { bytes.append(contentsOf: $0) } }
    return bytes.prefix(count)
  }

  private mutating func offset(in size: Int) -> Int {
    switch dice.below(4) {
    case 0: 0
    case 1: dice.below(9000)
    default: dice.below(size + 1)
    }
  }

  private mutating func newHandle() -> Int {
    nextHandle += 1
    return nextHandle
  }

  // MARK: - What is done

  private mutating func choose(_ model: Model) {
    if let place = filled {
      filled = nil
      if let found = model.find(place) { return fill(found, model) }
    }
    if model.places.count > Self.mostNames {
      return dice.oneIn(3) ? removeTree(model) : remove(model)
    }
    let ways: [(Int, (inout Program, Model) -> Void)] = [
      (8, { $0.create($1) }), (10, { $0.save($1) }), (6, { $0.rewrite($1) }),
      (6, { $0.append($1) }), (6, { $0.writeInPlace($1) }), (8, { $0.readWhole($1) }),
      (8, { $0.hold($1) }), (20, { $0.useHeld($1) }), (6, { $0.release($1) }),
      (8, { $0.look($1) }), (6, { $0.rename($1) }), (6, { $0.remove($1) }),
      (6, { $0.makeDirectory($1) }), (6, { $0.link($1) }), (8, { $0.attributes($1) }),
      (6, { $0.goAround($1) }), (4, { $0.listOne($1) }), (2, { $0.checkAll($1) }),
      (2, { $0.checkOut($1) }), (2, { $0.removeTree($1) }),
    ]
    var left = dice.below(ways.reduce(0) { $0 + $1.0 })
    for (weight, way) in ways {
      left -= weight
      if left < 0 { return way(&self, model) }
    }
  }

  private mutating func create(_ model: Model) {
    let (place, handle) = (anyPlace(model), newHandle())
    var flags: OpenFlags = [.create, .write, .read]
    if dice.oneIn(2) { flags.insert(.exclusive) }
    waiting = [.open(place, flags, as: handle)]
    if !dice.oneIn(4) { waiting.append(.write(handle, at: 0, bytes())) }
    if dice.oneIn(4), model.handles.count < Self.mostHandles { return }
    waiting.append(.close(handle))
  }

  /// Writes a new file and renames it over the old one, as editors do.
  private mutating func save(_ model: Model) {
    let to = dice.oneIn(5) ? place(model) : place(.file, model)
    let (temporary, handle) = (place("t", in: to.directory, model), newHandle())
    if dice.oneIn(2) { readWhole(model, to) }
    waiting += [
      .open(temporary, [.create, .write, .truncate], as: handle), .write(handle, at: 0, bytes()),
    ]
    if dice.oneIn(3) { waiting.append(.sync(handle, dataOnly: false)) }
    waiting += [.close(handle), .rename(temporary, to: to, nil)]
    if dice.oneIn(2) { waiting.append(.status(to)) }
  }

  private mutating func rewrite(_ model: Model) {
    let handle = newHandle()
    waiting = [
      .open(place(.file, model), [.write, .truncate], as: handle), .write(handle, at: 0, bytes()),
      .close(handle),
    ]
  }

  private mutating func append(_ model: Model) {
    let handle = newHandle()
    waiting = [
      .open(place(.file, model), [.write, .append, .create], as: handle),
      .write(handle, at: 0, bytes()), .close(handle),
    ]
  }

  private mutating func writeInPlace(_ model: Model) {
    let (place, handle) = (place(.file, model), newHandle())
    if dice.oneIn(3) {
      waiting = [.truncate(place, to: dice.below(70_000)), .status(place)]
      return
    }
    waiting = [
      .open(place, [.write, .read], as: handle), .write(handle, at: dice.below(9000), bytes()),
      .fileStatus(handle), .close(handle),
    ]
  }

  private mutating func readWhole(_ model: Model) { readWhole(model, place(.file, model)) }

  private mutating func readWhole(_ model: Model, _ place: Place) {
    let handle = newHandle()
    let size = model.find(place).map { model[$0].bytes.count } ?? 0
    waiting += [
      .open(place, .read, as: handle), .read(handle, at: 0, count: size + 100), .close(handle),
    ]
  }

  private mutating func hold(_ model: Model) {
    guard model.handles.count < Self.mostHandles else { return release(model) }
    if dice.oneIn(4) {
      let place =
        dice.oneIn(4) ? Place(directory: directory(model), name: ".") : place(.directory, model)
      waiting = [.open(place, [.read, .directory], as: newHandle())]
    } else {
      let append: OpenFlags = dice.oneIn(4) ? .append : []
      waiting = [.open(place(.file, model), append.union([.read, .write]), as: newHandle())]
    }
  }

  private mutating func release(_ model: Model) {
    guard let handle = handle(model, []) else { return }
    waiting = [.close(handle)]
  }

  /// Does something to a file that has been open for long.
  private mutating func useHeld(_ model: Model) {
    guard let handle = handle(model, []), let open = model.handles[handle] else { return }
    if open.flags.contains(.directory) {
      waiting = [dice.oneIn(2) ? .list(handle) : .fileStatus(handle)]
      return
    }
    guard open.flags.isSuperset(of: [.read, .write]) else { return }
    let size = model[open.node].bytes.count
    let place = offset(in: size)
    switch dice.below(maps ? 11 : 9) {
    case 0, 1: waiting = [.write(handle, at: place, bytes())]
    case 2: waiting = [.write(handle, at: place, bytes()), .fileStatus(handle)]
    case 3: waiting = [.resize(handle, to: dice.oneIn(3) ? 0 : place)]
    case 4: waiting = [.punch(handle, at: place, count: 1 + dice.below(9000))]
    case 5: waiting = [.sync(handle, dataOnly: dice.oneIn(2))]
    case 6: waiting = [.fileStatus(handle)]
    case 7, 8: waiting = [.read(handle, at: place, count: 1 + dice.below(70_000))]
    case 9:
      guard place < size else { return }
      waiting = [.mapRead(handle, at: place, count: size - place)]
    default:
      guard place < size, !open.flags.contains(.append) else { return }
      let count = min(size - place, 4096 - place % 4096)
      waiting = [.mapWrite(handle, at: place, bytes().prefix(count))]
    }
  }

  private mutating func look(_ model: Model) {
    waiting = (0..<(1 + dice.below(4))).map { _ in .status(place(model)) }
  }

  private mutating func rename(_ model: Model) {
    let flag: RenameFlag? = [nil, nil, .exchange, .noReplace][dice.below(4)]
    let from = dice.oneIn(3) ? place(.directory, model) : place(model)
    let to = place(model)
    // A directory with something in it stays above the depth.
    guard (model.names(from: 0, to: to.directory)?.count ?? 0) < Self.depth else { return }
    waiting = [.rename(from, to: to, flag), .status(from), .status(to)]
  }

  private mutating func remove(_ model: Model) {
    let place = place(model)
    waiting = [
      dice.oneIn(5) ? .removeDirectory(place) : .unlink(place), .status(place),
    ]
  }

  private mutating func makeDirectory(_ model: Model) {
    let place = anyPlace(model)
    guard (model.names(from: 0, to: place.directory)?.count ?? 0) < Self.depth else { return }
    waiting = [.makeDirectory(place), .status(place)]
  }

  private mutating func link(_ model: Model) {
    let place = anyPlace(model)
    switch dice.below(4) {
    case 0: waiting = [.symlink(target: "../nowhere/\(dice.next())", place)]
    case 1: waiting = [.readlink(self.place(.symlink, model))]
    default:
      let from = self.place(.file, model)
      waiting = [.link(from, to: place), .status(from)]
    }
  }

  private mutating func attributes(_ model: Model) {
    let place = place(dice.oneIn(5) ? .directory : .file, model)
    guard let found = model.find(place), model[found].kind != .symlink, !model.isShared(found)
    else { return }
    let name = Self.attributes[dice.below(2)]
    switch dice.below(6) {
    case 0: waiting = [.setMode(place, [0o644, 0o600, 0o755, 0o700][dice.below(4)])]
    case 1:
      let time = Time(
        seconds: 1_000_000_000 + dice.below(1_000_000), nanoseconds: dice.below(1_000_000_000))
      waiting = [.setModified(self.place(.file, model), time)]
    case 2:
      waiting = [.setExtended(place, name: name, bytes().prefix(dice.oneIn(3) ? 2000 : 40))]
    case 3: waiting = [.removeExtended(place, name: name)]
    case 4: waiting = [.extended(place, name: name)]
    default: waiting = [.extendedNames(place)]
    }
    waiting.append(.status(place))
  }

  private mutating func goAround(_ model: Model) {
    switch dice.below(3) {
    case 0: waiting = [.enter(place(.directory, model)), .workingDirectory]
    case 1: waiting = [.workingDirectory]
    default: waiting = [.workingDirectoryStatus]
    }
  }

  private mutating func listOne(_ model: Model) {
    let directory = directory(model)
    let handle = newHandle()
    waiting = [
      .open(Place(directory: directory, name: "."), [.read, .directory], as: handle),
      .list(handle), .close(handle),
    ]
  }

  /// Makes a directory with many files at once.
  private mutating func checkOut(_ model: Model) {
    let place = place("m", in: directory(model), model)
    guard model.find(place) == nil, model.isReachable(place.directory),
      (model.names(from: 0, to: place.directory)?.count ?? 0) < Self.depth - 1
    else { return }
    waiting = [.makeDirectory(place)]
    filled = place
  }

  private mutating func fill(_ directory: Int, _ model: Model) {
    for number in 0..<(10 + dice.below(30)) {
      let handle = newHandle()
      waiting += [
        .open(
          Place(directory: directory, name: "m\(number)"), [.create, .exclusive, .write], as: handle
        ),
        .write(handle, at: 0, bytes()), .close(handle),
      ]
    }
  }

  /// Removes a directory with everything in it.
  private mutating func removeTree(_ model: Model) {
    let place = place(.directory, model)
    guard let found = model.find(place), model[found].kind == .directory, !model.isShared(found)
    else { return }
    func removals(_ directory: Int) -> [Call] {
      model[directory].entries.keys.sorted().flatMap { name -> [Call] in
        let place = Place(directory: directory, name: name)
        guard let found = model.find(place), model[found].kind == .directory else {
          return [.unlink(place)]
        }
        return removals(found) + [.removeDirectory(place)]
      }
    }
    waiting = removals(found) + [.removeDirectory(place), .status(place)]
  }

  /// Looks at every name that the worker has.
  private mutating func checkAll(_ model: Model) { waiting = Self.walk(model, handle: newHandle()) }

  /// The calls that look at every name; `handle` is that of the one file that is open then.
  static func walk(_ model: Model, handle: Int) -> [Call] {
    model.directories.flatMap { directory -> [Call] in
      let own = model[directory].entries.filter { !model.isShared($0.value) }.keys.sorted()
      let listed: [Call] = [
        .open(Place(directory: directory, name: "."), [.read, .directory], as: handle),
        .list(handle), .close(handle),
      ]
      return listed
        + own.flatMap { name -> [Call] in
          let place = Place(directory: directory, name: name)
          guard let found = model.find(place) else { return [] }
          let node = model[found]
          switch node.kind {
          case .symlink: return [.status(place), .readlink(place)]
          case .directory: return [.status(place), .extendedNames(place)]
          case .file:
            return [.status(place), .extendedNames(place)]
              + node.extended.keys.sorted().map { .extended(place, name: $0) }
              + [
                .open(place, .read, as: handle), .fileStatus(handle),
                .read(handle, at: 0, count: node.bytes.count + 100), .close(handle),
              ]
          }
        }
    }
  }
}
