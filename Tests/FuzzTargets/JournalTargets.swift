import Foundation
import Inodes
import Platform

@testable import Grammar
@testable import LLVSCore
@testable import TreeNames
@testable import WorkingTree

/// The journal, which a crash may tear and a disk may damage.
enum JournalTargets {
  /// The seed of the journal files that are made here.
  private static let seed: UInt64 = 7

  /// A directory in memory where there is one: a fuzzer makes thousands of files a second.
  private static func scratch() -> String {
    let above = (try? FileSystem.exists("/dev/shm")) == true ? "/dev/shm" : "/tmp"
    return "\(above)/llvs-fuzz-\(SystemProcess.id)-\(SystemRandom.hex(4))"
  }

  static func records(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let record = bytes.withUnsafeBytes { JournalRecord(decoding: $0) }
    if let record {
      let again = self.record(record)[JournalFrame.headerSize...]
      try expect(
        Array(again).withUnsafeBytes { JournalRecord(decoding: $0) } == record,
        "a record comes back changed")
    }
    if case .whole(let header) = JournalFileHeader.look(in: bytes) {
      guard case .whole(header) = JournalFileHeader.look(in: header.encoded) else {
        throw FuzzTarget.Failure(description: "a header comes back changed")
      }
    }
    let path = scratch()
    defer { try? FileSystem.unlink(path) }
    guard let file = try? File(path, [.readWrite, .create, .truncate]),
      (try? file.write(bytes, at: 0)) != nil
    else { throw FuzzTarget.Failure(description: "no place for a file") }
    guard var reader = try? JournalReader(file, bootID: []) else { return }
    var turns = 0
    reading: while let item = try? reader.next() {
      switch item {
      case .record, .bytes: turns += 1
      case .end, .damaged: break reading
      }
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
      basedOn: nil,
      storing: [("a/b", [1]), ("c", [2])].map { .insert(Value(id: Value.ID($0), data: $1)) })
    return store
  }()

  private static func removeStore() {
    guard let store else { return }
    try? FileSystem.removeTree(store.path)
  }

  /// A record in its frame.
  private static func record(_ record: JournalRecord) -> [UInt8] {
    var bytes = ByteWriter()
    record.append(to: &bytes)
    return bytes.array
  }

  private static func header(of store: [UInt8]) -> [UInt8] {
    JournalFileHeader(
      bootID: Array("boot".utf8), storeID: store, cut: 0, lastNumber: 1, seed: seed
    ).encoded
  }

  /// Records of a length each, put into a journal whose checksums are all right: what is replayed is
  /// nonsense that no daemon wrote.
  static func replay(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard let store else { throw FuzzTarget.Failure(description: "no place for a store") }
    let directory = store.path + "/journal"
    do {
      try FileSystem.removeTree(directory)
      try FileSystem.makeDirectory(directory)
      var frames = ByteWriter()
      var rest = bytes[...]
      while let length = rest.popFirst(), length > 0, !rest.isEmpty {
        let part = Array(rest.prefix(Int(length)))
        JournalFrame.append(to: &frames) { $0.append(contentsOf: part) }
        rest = rest.dropFirst(Int(length))
      }
      JournalFrame.seal(&frames, seed: seed)
      try File("\(directory)/\(JournalFile.name(1))", [.readWrite, .create])
        .write(header(of: store.storeID) + frames.array, at: 0)
    } catch {
      throw FuzzTarget.Failure(description: "no place for a journal: \(error)")
    }
    guard let tree = open(store) else { return }
    walk(tree.files, .root, depth: 0)
    _ = tree.pending()
    // A journal that was opened once is opened again: the new one has what the replay made.
    try expect(open(store) != nil, "a tree that opened does not open again")
  }

  private static func open(_ store: Store) -> TreeSession? {
    try? TreeSession.open(
      store, defaults: AttributeDefaults(uid: 1, gid: 1), ignore: .defaults,
      settings: StoreSettings()
    ).0
  }

  private static func walk(_ tree: WorkingTree, _ directory: InodeNumber, depth: Int) {
    guard depth < 8, let listing = try? tree.openDirectory(directory),
      let names = try? tree.list(listing, after: .start)
    else { return }
    for item in names.prefix(16) {
      guard let status = try? tree.lookup(directory, item.name) else { continue }
      if status.kind == .directory {
        walk(tree, status.number, depth: depth + 1)
      } else {
        _ = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, used in
          used = 0
          _ = try? tree.read(status.number, at: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
      }
      tree.forget(status.number, count: 1)
    }
  }

  // MARK: Seeds

  private static let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 1)
  private static let attributes = Attributes(mode: 0o644)

  private static func place(_ directory: UInt64, _ name: String) -> InodeName {
    InodeName(directory: InodeNumber(directory), name: FileName(Array(name.utf8)))
  }

  private static func node(
    _ kind: EntryKind, _ names: [InodeName]
  ) -> PendingNode {
    PendingNode(
      kind: kind, attributes: attributes, changed: time,
      file: kind == .directory ? nil : PendingFile(content: FileContent()), names: names,
      recordedNames: names, stamp: .start)
  }

  private static func make(_ number: UInt64, _ kind: EntryKind, at place: InodeName)
    -> Change.Operation
  {
    .create(
      InodeNumber(number), at: place, kind: kind, attributes: attributes, content: FileContent(),
      isSaved: kind == .directory, seen: nil)
  }

  private static let operations: [Change.Operation] = [
    .node(InodeNumber(2), node(.directory, [place(1, "a")])),
    make(100, .regular, at: place(1, "n")),
    .write(
      InodeNumber(100), Extent(start: 0, length: 5, offset: 100, source: 1), [], seen: nil),
    .resize(InodeNumber(100), to: 9, .steady, seen: nil),
    .punch(InodeNumber(100), 1..<3, [], seen: nil),
    .save(InodeNumber(100), isFirm: true),
    .attributes(InodeNumber(100), attributes, lacksExtended: false, setsTime: true),
    make(101, .directory, at: place(1, "d")),
    .link(
      InodeNumber(100), at: place(101, "l"), id: [UInt8](repeating: 1, count: 16), seen: nil),
    .rename(
      InodeNumber(100), from: place(1, "n"), to: place(101, "m"), over: nil, isKept: false,
      seen: nil),
    .exchange(
      InodeNumber(100), at: place(101, "m"), with: InodeNumber(2), otherAt: place(1, "a")),
    .unlink(place(101, "l"), of: InodeNumber(100), isKept: true),
    .release(InodeNumber(100)),
    .rmdir(place(1, "d"), of: InodeNumber(101)),
  ]

  private static let records: [JournalRecord] = {
    let changes = operations.map { Change(time: time, $0) }
    return [.image(epoch: Overlay().epoch, stamp: .start, isCutting: false)]
      + changes.map { .change($0) } + [
        .changes(Array(changes.prefix(3))), .epoch(Overlay().epoch, version: 1), .mark(cut: 3),
        .sums(source: 1, [BytesSum(offset: 100, length: 5, sum: 7)]), .synced(end: 200),
      ]
  }()

  /// Returns the bytes that stand in the frame of a record.
  private static func encoded(_ record: JournalRecord) -> [UInt8] {
    Array(self.record(record).dropFirst(JournalFrame.headerSize))
  }

  static var recordSeeds: [[UInt8]] {
    let store = [UInt8](repeating: 1, count: 16)
    var writer = ByteWriter()
    for record in records { record.append(to: &writer) }
    JournalFrame.seal(&writer, seed: seed)
    let frames = writer.array
    return records.map { encoded($0) } + [header(of: store), header(of: store) + frames]
  }

  static var replaySeeds: [[UInt8]] {
    func seed(_ records: some Collection<JournalRecord>) -> [UInt8] {
      records.flatMap { record -> [UInt8] in
        let bytes = encoded(record)
        return [UInt8(clamping: bytes.count)] + bytes
      }
    }
    return [3, 7, 10, records.count].map { seed(records.prefix($0)) }
      + circles.map { seed(directories + [.change(Change(time: time, $0))]) }
  }

  /// A directory in a directory, twice.
  private static var directories: [JournalRecord] {
    zip([1, 101, 102] as [UInt64], [101, 102, 103] as [UInt64]).map { parent, number in
      .change(Change(time: time, make(number, .directory, at: place(parent, "d"))))
    }
  }

  /// Changes that would put a directory below itself: loops over them ran for ever.
  private static var circles: [Change.Operation] {
    [
      .rename(
        InodeNumber(101), from: place(1, "d"), to: place(103, "x"), over: nil, isKept: false,
        seen: nil),
      .rename(
        InodeNumber(102), from: place(101, "d"), to: place(101, "d"), over: InodeNumber(102),
        isKept: false, seen: nil),
      .exchange(
        InodeNumber(103), at: place(102, "d"), with: InodeNumber(101), otherAt: place(1, "d")),
      .link(
        InodeNumber(101), at: place(103, "x"), id: [UInt8](repeating: 1, count: 16), seen: nil),
      .node(InodeNumber(101), node(.directory, [place(103, "x")])),
    ]
  }
}
