import LLVSCore
import Platform
import TreeNames

// The link count of directories: 2 and one for each subdirectory, as on ext4.

/// How many subdirectories a directory shows, as counted when one last asked and kept since.
struct SubdirectoryCount {
  /// What ``count`` is of a directory that has too many names to count.
  static let tooMany = UInt32.max

  /// ``LiveTree/baseStamp`` of when it was counted; 0 where it never was.
  var baseStamp: UInt64 = 0
  var count: UInt32 = 0
}

extension LiveTree {
  /// In a directory of more names its subdirectories are not counted, which a link count of 1 says.
  ///
  /// It is what a look-up may cost more where a directory is met for the first time.
  static let countedNames = 1000

  /// The links of a directory as far as they are known: 1 where they are not; call with the lock held.
  func links(ofDirectory node: LiveNode) -> UInt32 {
    guard let known = node.directory?.subdirectories, known.baseStamp == baseStamp,
      known.count != SubdirectoryCount.tooMany
    else { return 1 }
    return known.count + 2
  }

  /// The same status, with the links of a directory counted; call without the lock.
  ///
  /// What cannot be read is not counted: whoever lists the directory is told.
  ///
  /// - Complexity: O(1) where it is known, else as to list up to ``countedNames`` names.
  func counting(_ status: NodeStatus) -> NodeStatus {
    guard status.kind == .directory, status.links == 1 else { return status }
    var status = status
    // Who changes names faster than they are counted is not waited for.
    for _ in 0..<4 {
      do {
        let names = try lock.withLock { _ throws(FSError) in try uncounted(status.node) }
        let count = try names?.count(upTo: Self.countedNames)
        let links = try lock.withLock { _ throws(FSError) in
          try note(count, of: names, in: status.node)
        }
        guard let links else { continue }
        status.links = links
      } catch {}
      break
    }
    return status
  }

  /// What is to be counted of a directory; nil where its count is known.
  private func uncounted(_ inode: UInt64) throws(FSError) -> NamesToCount? {
    guard let directory = try directory(inode).directory,
      directory.subdirectories.baseStamp != baseStamp
    else { return nil }
    let isCounted = directory.overrides.count <= Self.countedNames
    return NamesToCount(
      view: names, basePath: directory.basePath,
      overrides: isCounted
        ? directory.overrides.mapValues { $0.node?.kind == .directory } : nil,
      baseStamp: baseStamp, stamp: directory.stamp)
  }

  /// Keeps a count; nil where names have changed since.
  private func note(
    _ count: UInt32?, of names: NamesToCount?, in inode: UInt64
  ) throws(FSError) -> UInt32? {
    let node = try directory(inode)
    guard let names, let directory = node.directory else { return links(ofDirectory: node) }
    guard names.baseStamp == baseStamp, names.stamp == directory.stamp else { return nil }
    directory.subdirectories = SubdirectoryCount(
      baseStamp: baseStamp, count: count ?? SubdirectoryCount.tooMany)
    return links(ofDirectory: node)
  }

  /// Keeps a count when something else comes to stand at a name; call with the lock held.
  func recount(_ directory: LiveDirectory, from old: LiveNode?, to new: LiveNode?) {
    guard directory.subdirectories.count != SubdirectoryCount.tooMany else { return }
    switch (old?.kind == .directory, new?.kind == .directory) {
    case (false, true): directory.subdirectories.count &+= 1
    case (true, false): directory.subdirectories.count &-= 1
    default: break
    }
  }
}

/// The names of a directory as they were at one instant.
private struct NamesToCount {
  let view: TreeView
  let basePath: [UInt8]?
  /// What stands otherwise than in the base, and whether it is a directory; nil where it is too many.
  let overrides: [[UInt8]: Bool]?
  let baseStamp: UInt64
  /// Of the directory.
  let stamp: UInt64

  /// The subdirectories; nil where there are more names.
  func count(upTo limit: Int) throws(StoreError) -> UInt32? {
    guard let overrides else { return nil }
    var count = UInt32(overrides.values.count { $0 })
    guard let basePath else { return count }
    var listing = view.list(basePath)
    var left = limit
    while let item = try listing.next() {
      guard left > 0 else { return nil }
      left -= 1
      if item.kind == .directory, overrides.isEmpty || overrides[item.name] == nil { count += 1 }
    }
    return count
  }
}
