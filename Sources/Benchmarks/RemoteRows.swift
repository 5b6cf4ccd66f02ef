import Control
import Foundation
import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

/// The rows of remotes: a bucket of an S3 server, which is used by us, restic and rclone in turn, and a
/// folder next to git.
///
/// `LLVS_BENCH_REMOTE` names the bucket and a prefix, as a peer's address; the keys are those of
/// `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
enum RemoteRows {
  /// A bucket that is measured, and a place in it of this run's own.
  private struct Bucket {
    let address: S3Address
    let run = SystemRandom.hex(6)

    init() throws {
      guard let text = SystemProcess.environment("LLVS_BENCH_REMOTE"),
        case .s3(let address)? = try? RemoteAddress(text), address.place.host != nil
      else {
        throw BenchError.unavailable(
          "LLVS_BENCH_REMOTE names no bucket: s3+http://HOST:PORT/BUCKET/PREFIX")
      }
      self.address = address
    }

    func address(of name: String) -> RemoteAddress {
      var copy = address
      copy.place.prefix = "\(address.place.prefix)/\(run)/\(name)"
      return .s3(copy)
    }

    private var origin: String {
      let place = address.place
      return "\(place.isEncrypted ? "https" : "http")://\(place.host ?? "")"
        + (place.port.map { ":\($0)" } ?? "")
    }

    private func path(_ name: String) -> String {
      "\(address.place.bucket)/\(address.place.prefix)/\(run)/\(name)"
    }

    /// A command of restic on a repository of that name.
    func restic(_ name: String, _ words: String...) -> [String] {
      [
        "RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY=s3:\(origin)/\(path(name))", "restic", "-q",
        "--no-cache",
      ] + words
    }

    /// A copy by rclone of a directory.
    func rclone(_ name: String, from directory: String) -> [String] {
      rclone("copy", "--transfers", "8", directory, ":s3:\(path(name))")
    }

    /// Removes what this run put there: a test cluster is soon full.
    func clear() throws {
      try BenchProcess.call(rclone("purge", "--checkers", "16", ":s3:\(path(""))"))
    }

    private func rclone(_ words: String...) -> [String] {
      [
        "-u", "AWS_CA_BUNDLE", "RCLONE_S3_PROVIDER=Other", "RCLONE_S3_ENDPOINT=\(origin)",
        "RCLONE_S3_ENV_AUTH=true", "RCLONE_S3_NO_CHECK_BUCKET=true", "rclone",
      ] + words
    }
  }

  /// A store and a peer of it, without the tool around them.
  private struct Side {
    let store: Store
    let layout: any RemoteLayout
    let transfer: TransferControl
    static let peer = "bench"

    init(_ store: Store, _ address: RemoteAddress) throws {
      self.store = store
      transfer = TransferControl()
      layout = try PeerOpener.standard.open(
        .remote(address), PeerOpening(name: Self.peer, store: store, transfer: transfer))
    }

    func send() throws { _ = try layout.send(from: store, ExchangeControl()) }
    func retrieve() throws { _ = try layout.retrieve(into: store, ExchangeControl()) }
  }

  /// Measures commands that move few bytes, and a folder next to git.
  static func remotes(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let bucket = try checked()
    defer { try? bucket.clear() }
    return try smallSends(bucket, context)
      + StoreRows.exchange(context.scale.pick(2000, 10_000), [.bundles], context)
  }

  /// Measures first sends, and the send after all files were moved.
  static func uploads(_ context: BenchContext) throws -> [BenchFigure] {
    let bucket = try checked()
    defer { try? bucket.clear() }
    return try firstSend(bucket, context)
  }

  /// Measures the send after a little of a long value was changed.
  static func edit(_ context: BenchContext) throws -> [BenchFigure] {
    let bucket = try checked()
    defer { try? bucket.clear() }
    return try bytesSent(bucket, context)
  }

  /// Returns the bucket, if the programs that use it next to us are here too.
  private static func checked() throws -> Bucket {
    let bucket = try Bucket()
    for program in ["restic", "rclone"] {
      do { try BenchProcess.call([program, "version"]) } catch {
        throw BenchError.unavailable("\(program) is not installed")
      }
    }
    return bucket
  }

  // MARK: Few bytes

  private static func smallSends(
    _ bucket: Bucket, _ context: BenchContext
  ) throws -> [BenchFigure] {
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let address = bucket.address(of: "small")
    var last = try SampleStore.fill(store, count: 1000, isHead: true)
    let side = try Side(store, address)
    try side.send()
    let bundles = context.scale.pick(50, 1000)
    for _ in 0..<bundles {
      last = try SampleStore.extend(
        store, from: last, values: 1000, versions: 1, seed: UInt64(last.number.rawValue))
      try Side(store, address).send()
    }
    // The requests that such a send cannot do without, made by the same client, which connects again for
    // each command as ours does: a list of the same bundles, and a PUT next to them.
    func plain() throws -> any ObjectStore {
      let connector = RemoteConnector(
        address, credentials: CredentialSources(peer: "bench", secrets: nil),
        control: TransferControl(), scratch: "scratch")
      return try connector.open()
    }
    guard let folder = ObjectPrefix(folder: ExchangeFolders.bundles) else { return [] }
    let there = try plain().all(folder).count
    var random = BenchRandom(1)
    let directory = try context.place.directory("files")
    for index in 0..<1000 {
      try FileSystem.replace("\(directory)/\(index)", with: random.bytes(200))
    }
    try BenchProcess.call(bucket.restic("restic-small", "init"))
    try BenchProcess.call(bucket.restic("restic-small", "backup", directory))
    let sends = try BenchTimer.race(rounds: 15, 3) { runner, round in
      switch runner {
      case 0:
        last = try SampleStore.extend(
          store, from: last, values: 1000, versions: 1, seed: UInt64(last.number.rawValue))
        return try BenchTimer.seconds { try Side(store, address).send() }
      case 1:
        let (name, body) = (ObjectName("plain/object-\(round)"), ObjectBody(random.bytes(1400)))
        return try BenchTimer.seconds {
          let objects = try plain()
          _ = try objects.all(folder)
          if let name { try objects.put(name, body) }
        }
      default:
        try FileSystem.replace("\(directory)/7", with: random.bytes(200))
        return try BenchTimer.seconds {
          try BenchProcess.call(bucket.restic("restic-small", "backup", directory))
        }
      }
    }
    let idle = try BenchTimer.race(rounds: 21, 2) { runner, _ in
      try BenchTimer.seconds {
        if runner == 1 { return _ = try plain().all(folder) }
        // A command opens its peer once, and does both with it.
        let side = try Side(store, address)
        try side.retrieve()
        try side.send()
      }
    }
    return [
      BenchFigure(
        work: "send one small version, \(there) bundles there", sends, reference: 1,
        against: "LIST + PUT", goal: .times(atMost: 1.3, aim: 1.1)),
      BenchFigure(
        work: "the same", sends, reference: 2, against: "restic backup",
        goal: .faster(atLeast: 5, aim: 20)),
      BenchFigure(
        work: "nothing new: retrieve and send", idle, reference: 1, against: "LIST",
        goal: .times(atMost: 1.2, aim: 1.05)),
    ]
  }

  // MARK: Many bytes

  private static func firstSend(
    _ bucket: Bucket, _ context: BenchContext
  ) throws -> [BenchFigure] {
    let count = context.scale.pick(2000, 10_000)
    let directory = try context.place.directory("tree")
    var random = BenchRandom(3)
    for index in 0..<count {
      if index % 100 == 0 { try FileSystem.makeDirectory("\(directory)/\(index / 100)") }
      try FileSystem.replace("\(directory)/\(index / 100)/\(index)", with: random.bytes(10_000))
    }
    let path = try context.place.directory("first")
    try BenchProcess.call([try BenchProcess.llvs.get(), "init", path, "-q"])
    try BenchProcess.call([try BenchProcess.llvs.get(), "import", directory, "--store", path, "-q"])
    /// The time of a send from another replica, from which nothing was sent yet.
    func send(_ name: String, isSealed: Bool) throws -> Double {
      let (copy, address) = ("\(path)-\(name)", bucket.address(of: name))
      try BenchProcess.call(["cp", "-a", path, copy])
      if isSealed { try seal(copy, address, context) }
      let side = try Side(try Store.open(path: copy), address)
      return try BenchTimer.seconds { try side.send() }
    }
    let rounds = try BenchTimer.race(rounds: 3, 4) { runner, round in
      switch runner {
      case 0: return try send("sealed-\(round)", isSealed: true)
      case 3: return try send("first-\(round)", isSealed: false)
      case 1:
        try BenchProcess.call(bucket.restic("restic-first-\(round)", "init"))
        return try BenchTimer.seconds {
          try BenchProcess.call(bucket.restic("restic-first-\(round)", "backup", directory))
        }
      default:
        return try BenchTimer.seconds {
          try BenchProcess.call(bucket.rclone("rclone-\(round)", from: directory))
        }
      }
    }
    let (restic, rclone) = ("restic backup", "rclone copy --transfers 8")
    // Plain sends are compared in the same rounds.
    let plain = BenchRounds(times: [rounds.times[3], rounds.times[1], rounds.times[2]])
    return [(plain, ""), (rounds, ", encrypted")].flatMap { rounds, how in
      [
        BenchFigure(
          work: "first send, \(count) files of 10 kB\(how)", rounds, reference: 1, against: restic,
          goal: .faster(atLeast: 1.5, aim: 3)),
        BenchFigure(
          work: "the same", rounds, reference: 2, against: rclone,
          goal: .faster(atLeast: 5, aim: 20)),
      ]
    } + [try moved(path, count, bucket, context)]
  }

  /// Makes the key of a remote, so that the store encrypts everything that goes there.
  private static func seal(
    _ store: String, _ address: RemoteAddress, _ context: BenchContext
  ) throws {
    let words = context.place.path + "/words"
    try FileSystem.replace(words, with: Array("bench\n".utf8), permissions: 0o600)
    try BenchProcess.call([
      "LLVS_PASSPHRASE_FILE=\(words)", try BenchProcess.llvs.get(), "peer",
      Side.peer, "\(address)", "--encrypt", "--light", "--store", store, "-q",
    ])
  }

  /// Moves all files into another directory, and counts the bytes that go.
  private static func moved(
    _ path: String, _ count: Int, _ bucket: Bucket, _ context: BenchContext
  ) throws -> BenchFigure {
    let (point, address) = (try context.place.directory("mount"), bucket.address(of: "moved"))
    do {
      try Side(try Store.open(path: path), address).send()
    }
    let mount = OwnMount(store: path, at: point)
    try mount.start()
    defer { mount.stop() }
    try BenchProcess.call(["sh", "-c", "mkdir moved; mv [0-9]* moved"], in: point)
    try BenchProcess.call([try BenchProcess.llvs.get(), "commit", "-q", "--mount", point])
    mount.stop()
    let side = try Side(try Store.open(path: path), address)
    let before = side.transfer.sent
    try side.send()
    return BenchFigure(
      work: "\(count) files moved: bytes sent", ours: Double(side.transfer.sent - before),
      unit: .bytes, goal: .within(atMost: 100 * Double(count), aim: 70 * Double(count)))
  }

  private static func bytesSent(
    _ bucket: Bucket, _ context: BenchContext
  ) throws -> [BenchFigure] {
    let size = context.scale.pick(64 << 20, 1 << 30)
    let store = try Store.open(path: try context.place.directory("large"), create: true)
    var random = BenchRandom(5)
    var bytes = random.bytes(size)
    let side = try Side(store, bucket.address(of: "large"))
    let key = Key("large")
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: key, data: bytes)])
    try side.send()
    let middle = size / 2
    bytes.replaceSubrange(middle..<(middle + 4096), with: random.bytes(4096))
    _ = try store.makeVersion(
      basedOn: Version.Predecessors(idOfFirst: first.id),
      storing: [.update(Value(id: key, data: bytes))])
    let before = side.transfer.sent
    try side.send()
    return [
      BenchFigure(
        work: "4 KiB changed in \(size >> 20) MiB: bytes sent",
        ours: Double(side.transfer.sent - before), unit: .bytes,
        goal: .within(atMost: 400_000, aim: 150_000))
    ]
  }
}
