import Inodes
import LLVSCore
import TestSupport

@testable import PendingTree

/// Programs at work on an overlay over a recorded tree, among cuts, merges and switches, all in memory.
struct Life {
  var random: SeededRandom
  var store = ModelStore()
  var overlay = Overlay()
  var recorded = ModelTree()
  /// The version that each epoch stands for.
  var table: [Epoch: Int] = [.first: 0]
  /// The open handles, by the file that each has.
  var handles: [InodeNumber] = []
  /// The bytes that programs here removed or replaced.
  var removed: Set<Int> = []
  /// What the one reader has seen at a path.
  var read: [String: Epoch] = [:]
  var nextNumber: UInt64 = 100
  var marks = 0
  var links = 0
  /// What was done, for who looks at a failure.
  var log: [String] = []
  /// The overlay at the last new head, and all changes since.
  var image = Overlay()
  var journal: [Change] = []
  var kills = 0

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func run(_ steps: Int) throws {
    for _ in 0..<steps {
      if random.chance(0.25) { try transition() } else { try act() }
      try check("after \(log.last ?? "")")
    }
    try settle()
  }

  func check(_ when: String) throws {
    do {
      try overlay.check(over: recorded)
    } catch {
      throw LifeFault("\(when): \(error)")
    }
    var replayed = image
    for change in journal { replayed.apply(change) }
    guard replayed == overlay else { throw LifeFault("\(when): the journal says something else") }
  }

  // MARK: - The tree

  func shown(_ overlay: Overlay, over base: ModelTree) -> [String: Set<Int>?] {
    var tree: [String: Set<Int>?] = [:]
    func list(_ directory: InodeNumber, _ path: String) {
      for (name, number) in children(directory, overlay, base) {
        let below = ModelPath.join(path, name.text)
        if isDirectory(number, overlay, base) {
          tree[below] = .some(nil)
          list(number, below)
        } else {
          tree[below] = overlay.nodes[number]?.file?.content.marks ?? base[number]?.marks ?? []
        }
      }
    }
    list(.root, "")
    return tree
  }

  func shown() -> [String: Set<Int>?] { shown(overlay, over: recorded) }

  func children(
    _ directory: InodeNumber, _ overlay: Overlay, _ base: ModelTree
  ) -> [FileName: InodeNumber] {
    var children = (base.entries[directory] ?? [:]).mapValues(\.number)
    for name in overlay.changedNames(of: directory) {
      children[name] =
        overlay.changes[InodeName(directory: directory, name: name)]?.inode
    }
    return children
  }

  func isDirectory(_ number: InodeNumber, _ overlay: Overlay, _ base: ModelTree) -> Bool {
    overlay.nodes[number]?.isDirectory ?? base[number]?.isDirectory ?? false
  }

  func number(_ path: String) -> InodeNumber {
    path.split(separator: "/").reduce(.root) { directory, name in
      let place = InodeName(directory: directory, name: FileName(Array(name.utf8)))
      return ((try? overlay.inode(at: place, over: recorded)) ?? nil) ?? InodeNumber(0)
    }
  }

  func place(_ path: String) -> InodeName {
    InodeName(
      directory: number(ModelPath.parent(path)), name: FileName(ModelPath.name(path)))
  }

  mutating func allot() -> InodeNumber {
    nextNumber += 1
    return InodeNumber(nextNumber)
  }

  mutating func mark() -> Int {
    marks += 1
    return marks
  }

  func isHeld(_ number: InodeNumber) -> Bool { handles.contains(number) }
}

extension ModelRecord {
  func isThere(_ place: InodeName) -> Bool { overlay.changes[place]?.inode != nil }
}

struct LifeFault: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension SeededRandom {
  mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
  mutating func chance(_ part: Double) -> Bool { unit() < part }
}
