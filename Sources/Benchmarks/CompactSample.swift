import LLVSCore
import Platform

/// A history of two versions a day. `keep=daily` keeps the second of them.
///
/// Both versions of a day change the same file, so that the bytes of half of the versions are in no kept version.
struct CompactSample {
  let versions: Int
  /// The snapshots of restic, which takes too long for one of each version.
  let snapshots: Int
  /// The length of each version's file.
  private let length: Int
  private static let files = 1000
  private static let batch = 500
  private static let day = 86_400.0
  /// 2001-01-01.
  private static let start = 0.0

  init(versions: Int, bytes: Int, snapshots: Int) {
    self.versions = max(2, versions / 2 * 2)
    self.snapshots = max(2, min(snapshots, self.versions) / 2 * 2)
    length = max(1, bytes / self.versions)
  }

  var totalBytes: Int { versions * length }
  var versionsOfSnapshot: Int { versions / snapshots }

  private static func key(_ version: Int) -> Key {
    let file = version / 2 % files
    return Key("d\(file / 100)/f\(file % 100)")
  }

  /// Returns bytes that neither repeat nor compress.
  private func bytes(_ version: Int) -> [UInt8] {
    var random = BenchRandom(UInt64(version) << 32)
    return random.bytes(length)
  }

  // MARK: - llvs

  func makeStore(_ path: String) throws {
    let store = try Store.open(path: path, create: true)
    var last: VersionRecord?
    for first in stride(from: 0, to: versions, by: Self.batch) {
      last = try store.write { (transaction) throws(StoreError) in
        var last = last
        for version in first..<min(first + Self.batch, versions) {
          last = try add(version, after: last, of: store, transaction)
        }
        if let last { try transaction.setHead(last.number, map: last.map, reason: .imported) }
        return last
      }
    }
    try store.write { (transaction) throws(StoreError) in
      transaction.set("keep", to: Array("daily".utf8))
    }
  }

  private func add(
    _ version: Int, after last: VersionRecord?, of store: Store, _ transaction: WriteTransaction
  ) throws(StoreError) -> VersionRecord {
    let number = try transaction.reserveVersion()
    let key = Self.key(version)
    var attributes = Attributes()
    attributes.mode = 0o644
    let entry = Entry(
      key: key, kind: .regular, attributes: attributes,
      stored: try transaction.write(bytes(version)), storedVersion: number,
      revision: try transaction.allotRevisions(1))
    let base = last.map { store.map(of: $0) } ?? store.map(.empty)
    var edits = [MapEdit.put(entry)].makeIterator()
    let map = try base.applying { () throws(StoreError) -> MapEdit? in edits.next() }
    return try transaction.add(
      NewVersion(
        number: number, id: .random(), first: last?.number,
        timestamp: Self.start + Double(version) * Self.day / 2 + Self.day / 4, flags: .madeHere,
        metadata: [.digest: Version.MetadataValue(map.contentDigest.hex)], map: map.root,
        valueDataSize: Int64(length), changedKeys: [key]))
  }

  // MARK: - git

  /// Makes a repository in which the second version of each day is on a branch, and no branch has the others.
  func makeRepository(_ path: String) throws {
    try FileSystem.makeDirectory(path)
    let repository = try GitSample(in: path)
    try BenchProcess.git("config", "core.logAllRefUpdates", "false", in: path)
    var dead: [String] = []
    for first in stride(from: 0, to: versions, by: Self.batch) {
      var stream = GitStream()
      let branch = "dead\(dead.count)"
      dead.append(branch)
      for version in first..<min(first + Self.batch, versions) {
        let isDead = version % 2 == 0
        // With ^0, git looks for the branch in the repository instead of this stream.
        let parent =
          version < first + 2 ? (first == 0 ? nil : "main^0") : isDead ? "main" : nil
        stream.commit(on: isDead ? branch : "main", version, from: parent)
        stream.file(Self.key(version).bytes, bytes(version))
      }
      try repository.load(stream)
    }
    try BenchProcess.call(["git", "branch", "-q", "-D"] + dead, in: path)
  }

  // MARK: - restic

  static func restic(_ repository: String) -> [String] {
    ["RESTIC_PASSWORD=bench", "RESTIC_REPOSITORY=\(repository)", "restic", "-q", "--no-cache"]
  }

  /// Makes a repository whose snapshots have the files of several versions, alternating like the versions.
  func makeSnapshots(_ repository: String, tree: String) throws {
    try FileSystem.makeDirectory(tree)
    for directory in 0..<(Self.files / 100) {
      try FileSystem.makeDirectory("\(tree)/d\(directory)")
    }
    try BenchProcess.call(Self.restic(repository) + ["init"])
    for snapshot in 0..<snapshots {
      let days = (snapshot / 2 * versionsOfSnapshot)..<((snapshot / 2 + 1) * versionsOfSnapshot)
      for day in days {
        let version = day * 2 + snapshot % 2
        try FileSystem.replace("\(tree)/\(Self.key(version).rawValue)", with: bytes(version))
      }
      let day = snapshot / 2
      let date = "\(2001 + day / 336)-\(1 + day / 28 % 12)-\(1 + day % 28)"
        .split(separator: "-").map { $0.count < 2 ? "0\($0)" : "\($0)" }.joined(separator: "-")
      let hour = snapshot % 2 == 0 ? "06" : "18"
      try BenchProcess.call(
        Self.restic(repository) + ["backup", "--time", "\(date) \(hour):00:00", tree])
    }
  }
}
