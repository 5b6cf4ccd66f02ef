import LLVSCore
import Platform

// What the kernel is to forget where it remembers too much.
//
// The kernel keeps names for as long as it has memory, and this tree a node for each. Above a limit
// directories are taken from the kernel whole, those first whose names were asked for longest ago; of
// directories that have to stay, single files. What it takes is computed here, by who has the time: no
// request waits for it.

/// A name that the kernel knows.
package struct KernelName: Hashable, Sendable {
  package var parent: UInt64
  package var name: [UInt8]

  package init(parent: UInt64, name: [UInt8]) {
    self.parent = parent
    self.name = name
  }
}

/// What must not be taken from the kernel although no handle says so.
package struct KernelUse: Sendable {
  /// Directories where processes work, by number.
  package var directories: Set<UInt64>
  /// Paths from the root where something else is mounted.
  package var mounts: [[UInt8]]
  /// Whether that is all of it: if not, no directory is taken.
  package var isKnown: Bool

  package init(directories: Set<UInt64> = [], mounts: [[UInt8]] = [], isKnown: Bool = true) {
    self.directories = directories
    self.mounts = mounts
    self.isKnown = isKnown
  }

  /// Whether something is mounted at or below a path.
  func coversMount(_ path: [UInt8]) -> Bool {
    mounts.contains {
      $0.starts(with: path) && (path.isEmpty || $0.count == path.count || $0[path.count] == 0x2F)
    }
  }
}

/// When nodes are too many, and who is told.
package struct Crowd {
  /// More nodes than this are too many.
  package var limit = Int.max
  /// At more than this it is told; above the limit while what is in use or pending has to stay.
  package var threshold = Int.max
  /// Nodes and changes whose memory was given up since that was last told.
  package var freed = 0
  /// Called with the lock held, once each until ``LiveTree/watchCrowd(at:)`` is called again.
  package var isCrowded: (@Sendable () -> Void)?
  package var isThinned: (@Sendable () -> Void)?
  /// As how many nodes what was remembered counts more than it is, for the paths it holds.
  package var weight = 0
  /// After how much that was freed it is told.
  package static let thinning = 1 << 16

  package init() {}

  /// As how many nodes a path of so many bytes counts: one is about 190 bytes, and most paths shorter.
  package static func weight(ofPath count: Int) -> Int { count / 256 }

  /// Where to tell again after something had to stay.
  package static func threshold(over count: Int, limit: Int) -> Int {
    max(limit, count.addingReportingOverflow(limit / 8).partialValue)
  }

  /// Fewer have to stay: the threshold comes down with them, unless it was reached and is being seen to.
  package mutating func noteCount(_ count: Int) {
    guard threshold != Int.max, threshold > limit else { return }
    threshold = min(threshold, Self.threshold(over: count, limit: limit))
  }
}

extension LiveTree {
  /// Says who is told, once, when the nodes are too many, and when the memory of many was given up.
  ///
  /// Both are called with a lock held: they must only note it.
  package func tellCrowd(
    isCrowded: @escaping @Sendable () -> Void, isThinned: @escaping @Sendable () -> Void
  ) {
    lock.withLock { _ in
      crowd.isCrowded = isCrowded
      crowd.isThinned = isThinned
    }
  }

  /// Has it told when there are more nodes than `limit`, and by an eighth more than have to stay; begins to
  /// count anew what is freed.
  ///
  /// - Returns: how many there are.
  @discardableResult
  package func watchCrowd(limit: Int) -> Int {
    lock.withLock { _ in
      crowd.limit = limit
      crowd.threshold = Crowd.threshold(over: crowdCount, limit: limit)
      crowd.freed = 0
      return crowdCount
    }
  }

  /// Begins to count anew what is freed.
  package func resetFreed() { lock.withLock { _ in crowd.freed = 0 } }

  /// How much was freed since the last ``watchCrowd(at:)``.
  package var freedCount: Int { lock.withLock { _ in crowd.freed } }

  /// Takes a node into memory; call with the lock held.
  func remember(_ node: LiveNode) {
    nodes.insert(node)
    if node.kind == .directory { directories.insert(node) }
    if let directory = node.directory {
      let weight = Crowd.weight(ofPath: directory.basePath?.count ?? 0)
      crowd.weight += weight - directory.weight
      directory.weight = weight
    }
    if crowdCount > crowd.threshold { tellCrowded() }
  }

  /// How many nodes there are by the memory they take; call with the lock held.
  var crowdCount: Int { nodes.count + crowd.weight }

  private func tellCrowded() {
    crowd.threshold = Int.max
    crowd.isCrowded?()
  }

  /// Notes that a version took so many changes: what was pending can be forgotten now; call with the lock
  /// held.
  func noteTaken(_ count: Int) {
    noteFreed(count)
    if crowdCount > crowd.limit { tellCrowded() }
  }

  /// Notes that the memory of so many nodes or changes was given up; call with the lock held.
  func noteFreed(_ count: Int) {
    let before = crowd.freed
    crowd.freed += count
    if before < Crowd.thinning, crowd.freed >= Crowd.thinning { crowd.isThinned?() }
  }

  /// A directory is being read: it is not taken from the kernel meanwhile.
  package func openDirectory(_ inode: UInt64) {
    lock.withLock { _ in known(inode)?.directory?.readers += 1 }
  }

  package func closeDirectory(_ inode: UInt64) {
    lock.withLock { _ in known(inode)?.directory?.readers -= 1 }
  }

  /// Names whose loss makes the kernel forget about so many nodes, coldest first.
  ///
  /// - Complexity: O(*d* · depth + *d* log *d*) for *d* directories in memory, with the lock held; O(nodes)
  ///   where files have to be taken one by one.
  package func coldNames(toFree wanted: Int, sparing use: KernelUse) -> [KernelName] {
    guard wanted > 0 else { return [] }
    return lock.withLock { _ in
      var names: [KernelName] = []
      var freed = 0
      if use.isKnown { freed = takeDirectories(wanted, use, &names) }
      if freed < wanted { takeFiles(wanted - freed, use, &names) }
      return names
    }
  }

  private func takeDirectories(
    _ wanted: Int, _ use: KernelUse, _ names: inout [KernelName]
  ) -> Int {
    // A directory is as warm as the warmest below it, and goes with all below it.
    var warmth: [UInt64: UInt64] = [:]
    var weight: [UInt64: Int] = [:]
    warmth.reserveCapacity(directories.count)
    weight.reserveCapacity(directories.count)
    for directory in directories.values {
      guard let own = directory.directory else { continue }
      let isBusy = own.readers > 0 || use.directories.contains(directory.inode)
      let used = isBusy ? UInt64.max : own.used
      var step: LiveNode? = directory
      while let node = step {
        warmth[node.inode] = max(warmth[node.inode] ?? 0, used)
        weight[node.inode, default: 0] += Int(own.pins) + own.weight
        step = node.parent
      }
    }
    var chosen: Set<UInt64> = []
    var freed = 0
    let order = warmth.filter { $0.value < UInt64.max }.sorted {
      // Of two that are as warm the one above takes the other with it.
      $0.value == $1.value
        ? (weight[$0.key] ?? 0) > (weight[$1.key] ?? 0) : $0.value < $1.value
    }
    for (inode, _) in order {
      guard freed < wanted else { break }
      guard let node = directories[inode], let parent = node.parent, node.lookups > 0,
        !isBelow(node, chosen)
      else { continue }
      if !use.mounts.isEmpty, node.path.map({ use.coversMount($0) }) ?? true { continue }
      chosen.insert(inode)
      freed += (weight[inode] ?? 0) + 1
      names.append(KernelName(parent: parent.kernelID, name: node.name))
    }
    return freed
  }

  private func isBelow(_ node: LiveNode, _ chosen: Set<UInt64>) -> Bool {
    var step = node.parent
    while let above = step {
      if chosen.contains(above.inode) { return true }
      step = above.parent
    }
    return false
  }

  /// Files that are not open, of directories that stay.
  private func takeFiles(_ wanted: Int, _ use: KernelUse, _ names: inout [KernelName]) {
    let taken = Set(names)
    var stays: [UInt64: Bool] = [:]
    func isTaken(_ directory: LiveNode) -> Bool {
      if let known = stays[directory.inode] { return !known }
      var result = false
      if let above = directory.parent {
        result =
          taken.contains(KernelName(parent: above.kernelID, name: directory.name)) || isTaken(above)
      }
      stays[directory.inode] = !result
      return result
    }
    var left = wanted
    for node in nodes.values where node.kind != .directory {
      guard left > 0 else { return }
      // What is pending stays in memory whatever the kernel knows.
      guard node.lookups > 0, node.handles == 0, !node.isTouched, let parent = node.parent,
        !isTaken(parent)
      else { continue }
      if !use.mounts.isEmpty, node.path.map({ use.coversMount($0) }) ?? true { continue }
      for one in node.names {
        names.append(KernelName(parent: one.parent.kernelID, name: one.name))
      }
      left -= 1
    }
  }
}
