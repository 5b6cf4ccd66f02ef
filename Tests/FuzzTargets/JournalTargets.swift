import Foundation
import Inodes
import Platform

@testable import Grammar
@testable import LLVSCore
@testable import MountedTree
@testable import TreeNames

/// The journal, which a crash may tear and a disk may damage.
enum JournalTargets {
  /// A directory in memory where there is one: a fuzzer makes thousands of files a second.
  private static func scratch() -> String {
    let above = (try? FileSystem.exists("/dev/shm")) == true ? "/dev/shm" : "/tmp"
    return "\(above)/llvs-fuzz-\(SystemProcess.id)-\(SystemRandom.hex(4))"
  }

  static func records(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    if let change = try? Change(decoding: bytes) {
      try expect(
        (try? Change(decoding: change.encoded())) == change, "a change comes back changed")
    }
    if let header = try? JournalHeader(decoding: bytes) {
      try expect(
        (try? JournalHeader(decoding: header.encoded())) == header, "a header comes back changed")
    }
    let path = scratch()
    defer { try? FileSystem.unlink(path) }
    guard let file = try? File(path, [.readWrite, .create, .truncate]),
      (try? file.write(bytes, at: 0)) != nil, var reader = try? JournalReader(file)
    else { throw FuzzTarget.Failure(description: "no place for a file") }
    var turns = 0
    while case .change? = try? reader.next() {
      turns += 1
      try expect(turns <= bytes.count, "reading a journal does not end")
    }
  }

  // MARK: Replay

  /// One store for all runs; only its journal is another each time.
  private static let store: Store? = try? {
    let path = scratch()
    let store = try Store.open(path: path, mode: .writer, create: true)
    atexit { JournalTargets.removeStore() }
    try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [Value(id: Value.ID("a/b"), data: [1]), Value(id: Value.ID("c"), data: [2])])
    return store
  }()

  private static func removeStore() {
    guard let store else { return }
    try? FileSystem.removeTree(store.path)
  }

  private static func framed(_ meta: [UInt8]) -> [UInt8] {
    JournalFrame.header(meta: meta, dataLength: 0) + meta
  }

  /// Records of a length each, put into a journal whose checksums are all right: what is replayed is
  /// nonsense that no daemon wrote.
  static func replay(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard let store else { throw FuzzTarget.Failure(description: "no place for a store") }
    let directory = store.path + "/journal"
    do {
      try FileSystem.removeTree(directory)
      try FileSystem.makeDirectory(directory)
      let state = try LiveState(of: store)
      var journal = framed(
        JournalHeader(
          bootID: LiveTree.bootID(), head: state.head?.rawValue ?? 0, root: state.map.root,
          cut: state.cut
        ).encoded())
      var rest = bytes[...]
      while let length = rest.popFirst(), !rest.isEmpty {
        journal += framed(Array(rest.prefix(Int(length))))
        rest = rest.dropFirst(Int(length))
      }
      try File("\(directory)/\(Journal.journalName(1))", [.readWrite, .create])
        .write(journal, at: 0)
    } catch {
      throw FuzzTarget.Failure(description: "no place for a journal: \(error)")
    }
    guard
      let (tree, _) = try? LiveTree.open(
        store, defaults: AttributeDefaults(uid: 1, gid: 1), ignore: .defaults,
        settings: StoreSettings())
    else { return }
    walk(tree, LiveTree.rootInode, depth: 0)
    _ = tree.pending()
    // What was opened once is opened again: the checkpoint holds what the replay made.
    guard
      (try? LiveTree.open(
        store, defaults: AttributeDefaults(uid: 1, gid: 1), ignore: .defaults,
        settings: StoreSettings())) != nil
    else { throw FuzzTarget.Failure(description: "a tree that opened does not open again") }
  }

  private static func walk(_ tree: LiveTree, _ inode: UInt64, depth: Int) {
    guard depth < 8, let listing = try? tree.list(inode) else { return }
    for item in listing.items.dropFirst(2).prefix(16) {
      guard let status = try? tree.lookup(inode, item.name) else { continue }
      if status.kind == .directory {
        walk(tree, status.inode, depth: depth + 1)
      } else {
        _ = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, used in
          used = 0
          _ = try? tree.read(status.inode, at: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
      }
      tree.forget(status.inode, count: 1)
    }
  }

  // MARK: Seeds

  private static let changes: [Change] = {
    let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 1)
    let attributes = Attributes(mode: 0o644)
    let extent = Extent(start: 0, length: 5, offset: 100, source: 1)
    return [
      .epoch(id: 1, predecessor: 1),
      .bind(inode: 2, parent: 1, name: Array("a".utf8)),
      .create(
        inode: 100, parent: 1, name: Array("n".utf8), kind: .regular, attributes: attributes,
        target: [], time: time, saved: false),
      .write(inode: 100, extent: extent, checksum: 7, time: time, epoch: 1, flags: []),
      .resize(inode: 100, size: 9, time: time, epoch: 1, flags: .steady),
      .punch(inode: 100, range: 1..<3, time: time, epoch: 1),
      .save(inode: 100, time: time, epoch: 1),
      .setAttributes(
        inode: 100, attributes: attributes, keepsExtended: false, time: time, explicitTime: true),
      .setAttributes(
        inode: 100, attributes: attributes, keepsExtended: true, time: time, explicitTime: false),
      .create(
        inode: 101, parent: 1, name: Array("d".utf8), kind: .directory, attributes: attributes,
        target: [], time: time, saved: true),
      .rename(
        fromParent: 1, from: Array("n".utf8), toParent: 101, to: Array("m".utf8), exchange: false,
        time: time, epoch: 1),
      .rename(
        fromParent: 1, from: Array("a".utf8), toParent: 101, to: Array("m".utf8), exchange: true,
        time: time, epoch: 1),
      .exchange(
        fromParent: 1, from: Array("b".utf8), toParent: 101, to: Array("m".utf8), time: time,
        fromEpoch: 0, toEpoch: 1),
      .remove(parent: 1, name: Array("c".utf8), time: time, epoch: 1),
      .cutMark(id: 3), .synced(end: 200),
      .sums(source: 1, payloads: [Payload(offset: 100, checksum: 7, length: 5)]),
      .override(parent: 1, name: Array("o".utf8), inode: 0, epoch: 1, hidesBase: true),
      .detached(inode: 100, parent: 1, name: Array("n".utf8), successor: 101, epoch: 1),
    ]
  }()

  static var recordSeeds: [[UInt8]] {
    let header = JournalHeader(
      bootID: Array("b".utf8), head: 1, root: .empty, cut: 0
    ).encoded()
    return changes.map { $0.encoded() } + [
      header, (framed(header) + changes.flatMap { framed($0.encoded()) }),
    ]
  }

  static var replaySeeds: [[UInt8]] {
    func seed(_ changes: some Collection<Change>) -> [UInt8] {
      changes.flatMap { change -> [UInt8] in
        let bytes = change.encoded()
        return [UInt8(clamping: bytes.count)] + bytes
      }
    }
    return [3, 7, 10, changes.count].map { seed(changes.prefix($0)) }
      + circles.map { seed(directories + [$0]) }
  }

  /// A directory in a directory, twice.
  private static var directories: [Change] {
    zip([1, 101, 102], [101, 102, 103]).map { parent, inode in
      .create(
        inode: inode, parent: parent, name: Array("d".utf8), kind: .directory,
        attributes: Attributes(mode: 0o755), target: [],
        time: Attributes.Time(seconds: 1_700_000_000, nanoseconds: 1), saved: true)
    }
  }

  /// What would put a directory below itself: what ran over them ran for ever.
  private static var circles: [Change] {
    let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 1)
    let (name, other) = (Array("d".utf8), Array("x".utf8))
    return [
      .rename(
        fromParent: 1, from: name, toParent: 103, to: other, exchange: false, time: time, epoch: 1),
      .rename(
        fromParent: 101, from: name, toParent: 101, to: name, exchange: true, time: time, epoch: 1),
      .rename(
        fromParent: 102, from: name, toParent: 1, to: name, exchange: true, time: time, epoch: 1),
      .override(parent: 103, name: other, inode: 101, epoch: 1, hidesBase: false),
      .override(parent: 101, name: other, inode: 101, epoch: 1, hidesBase: false),
      .link(
        inode: 101, parent: 102, name: other, id: [UInt8](repeating: 1, count: 16), time: time,
        epoch: 1),
    ]
  }
}
