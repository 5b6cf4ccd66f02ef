import Events
import Grammar
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

/// The row of the working tree's calls: the time that they take without the kernel and its requests.
enum CallRows {
  static func calls(_ context: BenchContext) throws -> [BenchFigure] {
    let sample = try CallSample(context, count: context.scale.pick(5000, 20_000))
    let written = try [sample.creating(), sample.rewriting()]
    return try written + sample.looking() + [sample.reading(), sample.removing()]
  }
}

/// Files of a tree, a hundred in each directory, and the calls that the kernel makes for a program.
private final class CallSample {
  private static let caller = Caller(uid: 0, gid: 0, process: 1)
  private static let rounds = 5

  private let context: BenchContext
  private let tree: TreeSession
  private let count: Int
  private let block: [UInt8]
  /// The files of the newest round.
  private var files: [(parent: InodeNumber, name: FileName, number: InodeNumber)] = []

  init(_ context: BenchContext, count: Int) throws {
    (self.context, self.count) = (context, count)
    var random = BenchRandom(1)
    block = random.bytes(4096)
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    (tree, _) = try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 0, gid: 0), ignore: .defaults,
      settings: StoreSettings())
  }

  private func figure(
    _ work: String, _ times: [Double], note: String? = nil
  ) -> BenchFigure {
    BenchFigure(work: "\(work), in the process", ours: BenchTimer.median(times), note: note)
  }

  private func write(_ handle: HandleNumber, at offset: UInt64) throws(FSError) {
    try block.withUnsafeBytes { raw in
      Result<Void, FSError> { () throws(FSError) in
        try tree.files.write(handle, at: offset, raw, mapped: false)
      }
    }.get()
  }

  /// Looks a new name up, creates it, writes 4 KiB, and closes it: next to a file that grows by as many bytes.
  func creating() throws -> BenchFigure {
    let plain = try File.kept(
      try context.place.directory("plain") + "/file", [.readWrite, .create, .truncate])
    var end: UInt64 = 0
    let times = try BenchTimer.race(rounds: Self.rounds, 2) { runner, round in
      if runner == 1 {
        return try BenchTimer.seconds {
          for _ in 0..<count {
            try plain.write(block, at: end)
            end += UInt64(block.count)
          }
        } / Double(count)
      }
      return try create(round)
    }
    return BenchFigure(
      work: "create + write + close 4 KiB, a file, in the process", times, reference: 1,
      against: "pwrite of 4 KiB")
  }

  private func create(_ round: Int) throws -> Double {
    for file in files { tree.files.forget(file.number, count: 1) }
    files = []
    var parents: [InodeNumber] = []
    for index in 0...(count / 100) {
      let name = FileName("round\(round)-\(index)".utf8)
      parents.append(
        try tree.files.makeDirectory(.root, name, mode: 0o755, caller: Self.caller).number)
    }
    let names = (0..<count).map { FileName("file\($0)".utf8) }
    return try BenchTimer.seconds {
      for index in 0..<count {
        let (parent, name) = (parents[index / 100], names[index])
        guard (try? tree.files.lookup(parent, name)) == nil else {
          throw BenchError.failed("a name is there already")
        }
        let (status, handle) = try tree.files.create(
          parent, name, mode: 0o644, open: [.write], caller: Self.caller)
        try write(handle, at: 0)
        try tree.files.flush(handle)
        try tree.files.release(handle)
        files.append((parent, name, status.number))
      }
    } / Double(count)
  }

  /// Writes 4 KiB at scattered places of one file.
  func rewriting() throws -> BenchFigure {
    let (status, handle) = try tree.files.create(
      .root, FileName("large".utf8), mode: 0o644, open: [.write], caller: Self.caller)
    var random = BenchRandom(2)
    let times = try (0..<Self.rounds).map { _ in
      try BenchTimer.seconds {
        for _ in 0..<count { try write(handle, at: random.next() % 8192 * 4096) }
      } / Double(count)
    }
    try tree.files.flush(handle)
    try tree.files.release(handle)
    tree.files.forget(status.number, count: 1)
    return figure("write 4 KiB at a scattered place", times)
  }

  func looking() throws -> [BenchFigure] {
    let lookups = try (0..<Self.rounds).map { _ in
      try BenchTimer.seconds {
        for file in files { _ = try tree.files.lookup(file.parent, file.name) }
      } / Double(count)
    }
    for file in files { tree.files.forget(file.number, count: UInt64(Self.rounds)) }
    let statuses = try (0..<Self.rounds).map { _ in
      try BenchTimer.seconds {
        for file in files { _ = try tree.files.status(of: file.number) }
      } / Double(count)
    }
    return [figure("look up a pending name", lookups), figure("stat a pending file", statuses)]
  }

  func reading() throws -> BenchFigure {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let times = try (0..<Self.rounds).map { _ in
      try BenchTimer.seconds {
        for file in files {
          let handle = try tree.files.open(file.number, mode: [.read]).handle
          _ = try buffer.withUnsafeMutableBytes { raw in
            Result<Int, FSError> { () throws(FSError) in
              try tree.files.read(file.number, at: 0, into: raw)
            }
          }.get()
          try tree.files.flush(handle)
          try tree.files.release(handle)
        }
      } / Double(count)
    }
    return figure("open + read 4 KiB + close", times)
  }

  func removing() throws -> BenchFigure {
    let seconds = try BenchTimer.seconds {
      for file in files {
        try tree.files.unlink(file.parent, file.name)
        tree.files.forget(file.number, count: 1)
      }
    }
    return figure("remove a file", [seconds / Double(count)])
  }
}
