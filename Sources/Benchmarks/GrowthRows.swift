import Platform
import SQLite

/// Measures the bytes that a version of a file that changed a little adds to a store and to a peer.
enum GrowthRows {
  private static let page = 4096

  private enum Kind: String, CaseIterable {
    case rollback = "a database with a rollback journal"
    case log = "a database with a write-ahead log"
    case encrypted = "a database of encrypted pages"
    case image = "an image of 60 MB"
  }

  /// Makes versions of databases and of an image, each with a few changed pages, and sends each to a directory.
  static func growth(_ context: BenchContext) throws -> [BenchFigure] {
    let versions = context.scale.pick(20, 200)
    return try Kind.allCases.flatMap { kind in
      try figures(kind, versions, try context.place.directory("\(kind)"))
    }
  }

  private static func figures(
    _ kind: Kind, _ versions: Int, _ place: String
  ) throws -> [BenchFigure] {
    for name in ["mount", "peer"] { try FileSystem.makeDirectory("\(place)/\(name)") }
    let mount = OwnMount(store: "\(place)/store", at: "\(place)/mount")
    try mount.start()
    defer { mount.stop() }
    try mount.command("set settle=1h")
    try File("\(mount.path)/.llvs/peers/folder", [.write, .create])
      .write(Array("\(place)/peer\n".utf8), at: 0)
    let path = "\(mount.path)/file"
    var random = BenchRandom(7)
    let change =
      switch kind {
      case .rollback, .log: try database(path, rows: 90_000, isLogged: kind == .log, &random)
      case .encrypted: try pages(path, length: 17 << 20, changing: 30, &random)
      case .image: try pages(path, length: 60 << 20, changing: 50, &random)
      }
    var before = try FileSystem.read(path, atMost: 1 << 30)
    // A file that is open for writing is saved by fsync.
    func send() throws {
      try File(path, .readWrite).sync()
      try mount.command("sync")
    }
    func sizes() throws -> (store: Double, peer: Double) {
      try send()
      return (
        try length(of: "\(place)/store", ending: ".seg"),
        try length(of: "\(place)/peer", ending: "")
      )
    }
    let first = try sizes()
    var changed = 0
    for _ in 0..<versions {
      try change(&random)
      let now = try FileSystem.read(path, atMost: 1 << 30)
      for start in stride(from: 0, to: now.count, by: page) {
        let end = min(start + page, now.count)
        if end > before.count || now[start..<end] != before[start..<end] { changed += page }
      }
      before = now
      try send()
    }
    let last = try sizes()
    let names = [("store", last.store - first.store), ("peer", last.peer - first.peer)]
    return names.map { name, grown in
      BenchFigure(
        work: "a version of \(kind.rawValue), in the \(name)", ours: grown / Double(versions),
        reference: Double(changed) / Double(versions), against: "its changed pages",
        unit: .bytes, goal: .times(atMost: 1.5, aim: 1.3))
    }
  }

  /// Makes a database, and returns what updates random rows of it; 90,000 rows take 17 MB.
  static func database(
    _ path: String, rows: Int, updates: Int = 10, isLogged: Bool, _ random: inout BenchRandom
  ) throws -> (inout BenchRandom) throws -> Void {
    var options = Database.Options()
    options.isDocument = true
    let database = try Database(path: path, mode: .create, options: options)
    try database.execute("PRAGMA journal_mode=\(isLogged ? "wal" : "delete")")
    try database.execute("PRAGMA synchronous=off")
    try database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, n INTEGER)")
    try database.execute("CREATE INDEX byA ON t(a); CREATE INDEX byN ON t(n)")
    func text(_ random: inout BenchRandom) -> String {
      (0..<6).map { _ in String(random.next() % 1_000_000_000, radix: 36) }.joined(separator: " ")
    }
    try database.transaction { () throws(DatabaseError) in
      for _ in 0..<rows {
        try database.prepared("INSERT INTO t(a, b, n) VALUES(?, ?, ?)")
          .bind(1, text(&random)).bind(2, text(&random)).bind(3, Int64(random.next() >> 34)).run()
      }
    }
    return { random in
      try database.transaction { () throws(DatabaseError) in
        for _ in 0..<updates {
          try database.prepared("UPDATE t SET b = ?, n = ? WHERE id = ?")
            .bind(1, text(&random)).bind(2, Int64(random.next() >> 34))
            .bind(3, Int64(random.next() % UInt64(rows))).run()
        }
      }
      if isLogged { try database.execute("PRAGMA wal_checkpoint") }
    }
  }

  /// Makes a file of random pages, as an encrypted database or an image is, and returns what writes some of them.
  private static func pages(
    _ path: String, length: Int, changing count: Int, _ random: inout BenchRandom
  ) throws -> (inout BenchRandom) throws -> Void {
    let file = try File(path, [.readWrite, .create])
    for start in stride(from: 0, to: length, by: 1 << 20) {
      try file.write(random.bytes(min(1 << 20, length - start)), at: UInt64(start))
    }
    return { random in
      for _ in 0..<count {
        let number = random.next() % UInt64(length / page)
        try file.write(random.bytes(page), at: number * UInt64(page))
      }
    }
  }

  private static func length(of path: String, ending: String) throws -> Double {
    var total = 0.0
    for name in try FileSystem.list(path) {
      let status = try FileSystem.status("\(path)/\(name)", following: false)
      if status.kind == .directory {
        total += try length(of: "\(path)/\(name)", ending: ending)
      } else if name.hasSuffix(ending) {
        total += Double(status.size)
      }
    }
    return total
  }
}
