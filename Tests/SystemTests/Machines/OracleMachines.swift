import Foundation
import Platform
import Synchronization
import TestSupport

/// Two machines that sync through one folder while the programs of `oracle` work in both mounts.
///
/// No two workers change one name, and the machines never change the same: so nothing may ever be a conflict, and
/// every call is answered as if nobody else was there.
final class OracleMachines: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The names of the workers in the first mount, and in the second one.
  private static let workers = (first: [0, 1, 2], second: [3])
  private static let filled = 320

  private let stores: Mutex<(first: MountedStore, second: MountedStore)>
  private let paths: (first: String, second: String)
  private let directory: String
  private let isOver = Mutex(false)
  /// When the first daemon was killed and mounted.
  private let notes = Mutex<[String]>([])
  private let failure = Mutex<String?>(nil)

  /// Mounts two stores that have the shared directory.
  init() throws {
    let (first, second) = (try MountedStore(), try MountedStore())
    try first.mount()
    try second.mount()
    paths = (first.path, second.path)
    directory = first.directory
    stores = Mutex((first, second))
    try FileSystem.makeDirectory(directory + "/models")
    try FileSystem.makeDirectory(directory + "/folder")
    for (path, name) in [(paths.first, "a"), (paths.second, "b")] {
      try run(
        """
        \(Self.llvs) set --mount=. machine=\(name)
        \(Self.llvs) peer --mount=. folder '\(directory)/folder'
        """, in: path)
    }
    try run("mkdir common fill; echo start > start", in: paths.first)
    try syncBoth()
    try run("test -d common && cat start", in: paths.second)
  }

  func tearDown() {
    stores.withLock {
      $0.first.tearDown(); $0.second.tearDown()
    }
  }

  private static var llvs: String { "'\(MountedStore.program)'" }

  private func run(_ script: String, in path: String, seconds: Int = 120) throws {
    let result = try shell("set -eo pipefail\n" + script, in: path, seconds: seconds)
    guard result.status == 0 else {
      throw Failure(description: "\(script)\nended with \(result.status): \(result.output)")
    }
  }

  private func syncBoth() throws {
    for path in [paths.first, paths.second] { try run("\(Self.llvs) sync --mount=. -q", in: path) }
  }

  // MARK: - Work

  /// What happens to the first machine while programs work.
  enum Trouble: Comparable {
    case commits, syncs, kills
  }

  /// Lets programs work for a time beside commits, then also syncs, then also the deaths of the first daemon.
  func work(seconds: Double, seed: UInt64, beside trouble: Trouble) throws {
    isOver.withLock { $0 = false }
    var loops: [@Sendable (Int) throws -> Void] = [{ [self] round in try commit(round) }]
    if trouble >= .syncs {
      loops.append { [self] _ in
        try syncBoth()
        usleep(300_000)
      }
      for path in [paths.first, paths.second] { loops.append { [self] _ in try look(at: path) } }
    }
    let kills = trouble == .kills
    let group = DispatchGroup()
    for loop in loops {
      start(group) { round in
        do {
          try loop(round)
        } catch {
          // While daemons die commands fail too.
          guard kills else { throw error }
          usleep(100_000)
        }
      }
    }
    if kills {
      var random = SeededRandom(seed: seed)
      let pauses = (0..<10_000).map { _ in UInt32.random(in: 100_000...3_000_000, using: &random) }
      start(group) { [self] round in
        usleep(pauses[round % pauses.count])
        try stores.withLock { stores in
          try stores.first.kill()
          note("killed")
          try stores.first.mount()
          note("mounted")
        }
      }
    }
    for second in [false, true] { startPrograms(group, second, seconds, seed, kills) }
    group.wait()
    if let failure = failure.withLock({ $0 }) { throw Failure(description: failure) }
    // A kill may have stopped the last one half-way.
    if kills { try commit(1) }
  }

  /// Repeats a body until the work is over or something failed.
  private func start(_ group: DispatchGroup, _ body: @escaping @Sendable (Int) throws -> Void) {
    group.enter()
    Thread.detachNewThread { [self] in
      var round = 0
      while !isOver.withLock({ $0 }) {
        do { try body(round) } catch { fail("\(error)") }
        round += 1
      }
      group.leave()
    }
  }

  var kills: Int { notes.withLock { $0.count { $0.hasSuffix("killed") } } }

  private func note(_ what: String) {
    notes.withLock { $0.append("\(Date().timeIntervalSince1970) \(what)") }
  }

  private func fail(_ what: String) {
    failure.withLock { $0 = $0 ?? what }
    isOver.withLock { $0 = true }
  }

  /// Makes a version, every other time after hundreds of files were made at once.
  private func commit(_ round: Int) throws {
    if round % 2 == 1 {
      try run(
        """
        cd fill; rm -rf old || { ls -A old | head; echo 3 > /proc/sys/vm/drop_caches; ls -A old | head; exit 1; }
        if [ -d new ]; then mv new old; fi
        mkdir new; for n in $(seq \(Self.filled)); do echo $n > new/$n; done
        """, in: paths.first)
    }
    try run("\(Self.llvs) commit --mount=. -q", in: paths.first)
    usleep(UInt32(100_000 * (round % 7)))
  }

  /// Looks at all that a mount shows, as programs do that change nothing, so that the kernel has it in its caches and
  /// merges meet open files.
  private func look(at path: String) throws {
    try run(
      """
      { ls -lR . & getfattr -dR . & find . -type f -print0 | xargs -0 cat &
        find . -type f -print0 | shuf -zn 20 | timeout 1 xargs -0 tail -qf; wait; } &> /dev/null || :
      """, in: path)
  }

  /// Runs the workers of a mount as threads of one program, then as programs of their own, and so on.
  private func startPrograms(
    _ group: DispatchGroup, _ isSecond: Bool, _ seconds: Double, _ seed: UInt64, _ kills: Bool
  ) {
    group.enter()
    let workers = isSecond ? Self.workers.second : Self.workers.first
    Thread.detachNewThread { [self] in
      let end = Date().addingTimeInterval(seconds)
      var round: UInt64 = 0
      while !isOver.withLock({ $0 }), Date() < end {
        let groups = round % 2 == 0 ? [workers] : workers.map { [$0] }
        let time = min(8, max(1, end.timeIntervalSinceNow))
        do {
          try oracle(
            groups, isSecond ? paths.second : paths.first,
            ["--seconds=\(time)", "--seed=\(seed &* 1000 &+ round)"] + (kills ? ["--no-maps"] : []))
        } catch {
          fail("seed \(seed), round \(round): \(error)")
        }
        round += 1
      }
      if !isSecond { isOver.withLock { $0 = true } }
      group.leave()
    }
  }

  /// Runs a program for each group of workers, all at once.
  private func oracle(_ groups: [[Int]], _ path: String, _ options: [String]) throws {
    let processes = try groups.map { group in
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments =
        [
          "--default-signal", MountedStore.program("oracle"), path, directory + "/models",
          "--workers=\(group.map(String.init).joined(separator: ","))",
        ] + options
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = output
      process.standardError = output
      try process.run()
      return (process, output)
    }
    var wrong: [String] = []
    for (process, output) in processes {
      let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      if process.terminationStatus != 0 {
        wrong.append("ended with \(process.terminationStatus): \(said)")
      }
    }
    guard wrong.isEmpty else {
      wrong += ["The last deaths:"] + notes.withLock { $0.suffix(12) }
      for store in stores.withLock({ [$0.first.store, $0.second.store] }) {
        wrong += ["The log of \(store):", (try? shell("tail -n 30 '\(store)/log'").output) ?? ""]
      }
      throw Failure(description: wrong.joined(separator: "\n"))
    }
  }

  // MARK: - What must be so

  /// Compares both mounts with the models: as they are, after a remount, and after syncs.
  func check(after trouble: Trouble) throws {
    let all = Self.workers.first + Self.workers.second
    // The last kill may have come behind the last call.
    try oracle([Self.workers.first], paths.first, trouble == .kills ? ["--after=remount"] : [])
    try oracle([Self.workers.second], paths.second, [])
    for _ in 0..<2 { try syncBoth() }
    // What the kernel has of the other machine's files was brought by merges.
    try oracle([Self.workers.second], paths.first, ["--after=sync"])
    try oracle([Self.workers.first], paths.second, ["--after=sync"])
    try stores.withLock { stores in
      for store in [stores.first, stores.second] {
        try store.unmount()
        try store.mount()
      }
    }
    try oracle([Self.workers.first], paths.first, ["--after=remount"])
    try oracle([Self.workers.second], paths.second, ["--after=remount"])
    for path in [paths.first, paths.second] {
      try oracle([all], path, ["--after=sync"])
      try run(
        """
        test "$(\(Self.llvs) conflicts --mount=.)" = 'no conflicts' || { \(Self.llvs) conflicts --mount=.; exit 1; }
        test ! -d fill/new || test $(ls fill/new | wc -l) -eq \(Self.filled)
        test -z "$(find . -name '%llvs%*')"
        """, in: path)
    }
    for store in stores.withLock({ [$0.first.store, $0.second.store] }) {
      try run("\(Self.llvs) verify --store='\(store)' -q", in: "/")
    }
  }
}
