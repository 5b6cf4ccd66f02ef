import ObjectStoreSupport
import Platform
import TestSupport
import Testing

/// Three machines that sync through a ``FaultyProxy``, each with a store that the program mounts.
final class BadNetwork {
  struct Server: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// The address of an empty place; empty for a bucket in this process.
    var address = ""
    var user = "user"
    var password = "password"
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static let servers: [Server] = {
    let text =
      SystemProcess.environment("LLVS_TEST_SERVERS")
      .flatMap { try? FileSystem.read($0, atMost: 1 << 16) } ?? []
    return [Server(testDescription: "bucket")]
      + String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 4, ["moto", "nginx"].contains(words[0]) else { return nil }
        return Server(
          testDescription: words[0], address: words[1], user: words[2], password: words[3])
      }
  }()

  /// The faults that a command may meet: it fails and says why, and is neither killed nor late.
  private static let longestSync = 240
  private let bucket: BucketServer?
  private let proxy: FaultyProxy
  private let address: String
  private let login: String
  private var machines: [MountedStore] = []
  private var random: SeededRandom
  private var serial = 0
  private(set) var log: [String] = []

  init(_ server: Server, seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    bucket = server.address.isEmpty ? try BucketServer(pageLength: 7) : nil
    let base = bucket?.address ?? server.address
    // SCHEME://127.0.0.1:PORT/PLACE
    let parts = base.split(separator: "/", maxSplits: 2)
    guard parts.count == 3, let port = UInt16(parts[1].split(separator: ":")[1]) else {
      throw Failure(description: "\(base) is no address on this machine")
    }
    proxy = try FaultyProxy(to: port, seed: seed)
    address = "\(parts[0])//127.0.0.1:\(proxy.port)/\(parts[2])/\(SystemRandom.hex(8))"
    login = "printf '\(server.user)\\n\(server.password)\\n'"
    for name in ["a", "b", "c"] {
      let machine = try MountedStore()
      machines.append(machine)
      try machine.mount()
      try run(
        """
        llvs set --mount=. machine=\(name)
        \(login) | llvs peer --mount=. cloud '\(address)' --login
        \(name == "a" ? "echo start > journal" : "")
        llvs sync --mount=. -q
        """, on: machine)
    }
    proxy.fail(0.15)
  }

  func tearDown() {
    for machine in machines { machine.tearDown() }
    proxy.stop()
    bucket?.stop()
  }

  private func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  @discardableResult
  private func run(
    _ script: String, on machine: MountedStore, mayFail: Bool = false
  ) throws -> String {
    let result = try machine.shell(
      "set -eo pipefail; llvs() { '\(MountedStore.program)' \"$@\"; }\n" + script,
      seconds: Self.longestSync)
    let index = machines.firstIndex { $0 === machine } ?? 0
    log.append("\(index) \(result.status): \(script)\n\(result.output)")
    // 124 and more: a time that was over, or a signal.
    guard result.status == 0 || mayFail && result.status < 124 else {
      throw Failure(
        description: "\(script)\nended with \(result.status): \(result.output)\(machine.daemonLog)")
    }
    return result.output
  }

  private func edit() -> String {
    serial += 1
    let (file, other) = ("d\(pick(0..<3))/f\(pick(0..<8))", "d\(pick(0..<3))/f\(pick(0..<8))")
    switch pick(0..<8) {
    case 0, 1, 2: return "echo \(serial) > \(file)"
    case 3, 4: return "echo line \(serial) >> journal"
    case 5: return "mv \(file) \(other) 2>/dev/null || :"
    case 6: return "rm -f \(file)"
    default: return "head -c \(pick(1..<900) * 1000) /dev/urandom > \(file)"
    }
  }

  /// Edits something on a machine, and syncs it; the daemon of one in ten is killed during the sync.
  func step() throws {
    let machine = machines[pick(0..<machines.count)]
    let edits = (0..<pick(0..<4)).map { _ in edit() }
    try run((["mkdir -p d0 d1 d2"] + edits).joined(separator: "\n"), on: machine)
    guard pick(0..<10) == 0 else {
      try run("llvs sync --mount=. -q", on: machine, mayFail: true)
      return
    }
    try run("(llvs sync --mount=. -q &>/dev/null &); sleep 0.\(pick(10..<99))", on: machine)
    try machine.kill()
    log.append("killed")
    try machine.mount()
  }

  private static let tree = """
    find . -path ./.llvs -prune -o -printf '%y %m %P %l\\n' | sort
    find . -path ./.llvs -prune -o -type f -print0 | sort -z | xargs -0r sha256sum
    """

  /// Checks that all are equal and whole once the network is honest.
  func end() throws {
    #expect(proxy.faults > 0)
    proxy.fail(0)
    for _ in 0..<3 {
      for machine in machines { try run("llvs sync --mount=. -q", on: machine) }
    }
    let wanted = try run("ls .llvs/heads; \(Self.tree)", on: machines[0])
    for machine in machines {
      let found = try run("ls .llvs/heads; \(Self.tree)", on: machine)
      guard found == wanted else { throw Failure(description: "\(wanted)\nis not\n\(found)") }
      try run("llvs verify --store='\(machine.store)' -q; llvs verify --mount=. cloud", on: machine)
    }
    let (store, path) = ("\(machines[0].directory)/clone", "\(machines[0].directory)/cloned")
    let found = try run(
      """
      \(login) | llvs clone '\(address)' '\(store)' '\(path)' --login -q
      trap "cd /; llvs unmount '\(path)' -q" EXIT
      cd '\(path)'
      ls .llvs/heads
      \(Self.tree)
      """, on: machines[0])
    guard found == wanted else {
      throw Failure(description: "\(wanted)\nis not the clone's\n\(found)")
    }
  }
}
