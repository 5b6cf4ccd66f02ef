import Foundation
import Platform
import TestSupport

/// A machine that lives for a year: a mounted store, and a model of what its tree shows.
///
/// Only this machine changes the directory of its name, and every machine writes the files in `shared`.
final class YearMachine {
  let name: String
  let mount: MountedStore
  var known = YearKnowledge()
  /// Its own directory, with the files that enter no version.
  var tree = YearTree()
  /// Each state of the own directory since the last one that a power failure cannot take, and the names that led
  /// to the next one.
  var states: [(tree: YearTree, touched: Set<String>)] = []
  var random: SeededRandom
  var count = 0
  /// What it did last, for what is said if something is wrong.
  private(set) var log: [String] = []
  /// A file that is written and not closed.
  var unsaved: (name: String, file: File)?

  init(_ name: String, _ mount: MountedStore, random: SeededRandom) {
    (self.name, self.mount, self.random) = (name, mount, random)
  }

  func say(_ step: String) { log.append(step) }

  func wrong(_ what: String) -> YearOfStores.Failure {
    .init(
      description:
        "\(name): \(what), after\n\(log.suffix(60).joined(separator: "\n"))\n\(mount.daemonLog)")
  }

  func path(_ name: String) -> String { "\(mount.path)/\(name)" }

  func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  // MARK: - Commands

  /// Writes a line to the control file.
  func control(_ line: String) throws {
    say(line)
    let file = try File(path(".llvs/control"), .readWrite)
    do {
      try file.writeOnce(Array("\(line)\n".utf8), at: 0)
    } catch {
      let reply = (try? file.read(4096, at: 0)).map { String(decoding: $0, as: UTF8.self) } ?? ""
      throw wrong("\(line): \(error): \(reply)")
    }
    if line == "sync" { say(String(decoding: try file.read(4096, at: 0), as: UTF8.self)) }
  }

  /// Adds a peer.
  func meet(_ peer: String, at address: String) throws {
    try File(path(".llvs/peers/\(peer)"), [.write, .create, .truncate])
      .writeOnce(Array("\(address)\n".utf8), at: 0)
  }

  /// Makes a version of everything.
  func commit() throws {
    try control("commit")
    states = []
  }

  /// True for a name that enters no version.
  static func isScratch(_ name: String) -> Bool { name.hasSuffix(".scratch") }

  /// Notes what a version made now would have.
  func noteVersion() {
    known.owned[name] = (
      known.owned[name].map { $0.turn } ?? 0, tree.filter { !Self.isScratch($0) }
    )
  }

  // MARK: - What must be so

  /// Compares the mount with what is known, or with one of several.
  func check(_ candidates: [YearKnowledge] = []) throws {
    noteVersion()
    let candidates = candidates.isEmpty ? [known] : candidates
    let shown: YearTree
    do { shown = try YearTree(reading: mount.path) } catch { throw wrong("\(error)") }
    try check(own: shown.filter { $0 == name || $0.hasPrefix(name + "/") })
    var names: Set<String> = []
    for machine in Set(candidates.flatMap { $0.owned.keys }).subtracting([name]) {
      let part = shown.filter { $0 == machine || $0.hasPrefix(machine + "/") }
      let differences = candidates.map { candidate in
        part.difference(from: candidate.owned[machine]?.tree ?? YearTree())
      }
      if !differences.contains(nil) { throw wrong("\(differences.compactMap { $0 })") }
      names.insert(machine)
    }
    for shared in shown.names.keys where shared.hasPrefix("shared/") {
      let text = shown[shared].map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
      let texts = Set(candidates.flatMap { $0.shared[shared]?.texts ?? [] })
      guard texts.contains(text) else { throw wrong("\(shared): \(text) instead of \(texts)") }
    }
    for shared in Set(candidates.first?.shared.keys.map { $0 } ?? [])
    where candidates.allSatisfy({ $0.shared[shared] != nil }) && shown.names[shared] == nil {
      throw wrong("\(shared) is not there")
    }
    for name in shown.names.keys where !name.contains("/") && name != "shared" && name != self.name
    {
      guard names.contains(name) else { throw wrong("\(name) is there") }
    }
  }

  private func check(own shown: YearTree) throws {
    guard isAfterPowerCut else {
      if let difference = shown.difference(from: tree) { throw wrong(difference) }
      return
    }
    // A prefix of what was done is there; of the call that was cut off nothing is promised.
    isAfterPowerCut = false
    states.append((tree, []))
    let all = states
    let differences: [String?] = all.map { state in
      shown.difference(from: state.tree, except: state.touched)
    }
    guard let index = differences.lastIndex(where: { $0 == nil }) else {
      throw wrong(
        "after a power cut the tree is none of \(all.count) states: \(differences.compactMap { $0 })"
      )
    }
    lost += all.count - 1 - index
    say("the power cut left state \(index) of \(all.count)")
    tree = shown
    states = []
    known.owned[name]?.turn += 1
    noteVersion()
  }

  /// How many steps power failures took back.
  private(set) var lost = 0
  /// True until the tree was compared after a power failure.
  var isAfterPowerCut = false

  /// Compares which texts the shared files have with what may be, and goes on from them.
  ///
  /// - Returns: the texts.
  func settleTexts() throws -> [String: String] {
    var texts: [String: String] = [:]
    for (shared, state) in known.shared {
      let text = String(
        decoding: try FileSystem.read(path(shared), atMost: 1 << 20), as: UTF8.self)
      guard state.texts.contains(text) else {
        let head = try FileSystem.read(path(".llvs/head/\(shared)"), atMost: 1 << 20)
        throw wrong(
          "\(shared): \(text) instead of \(state.texts), the head has \(String(decoding: head, as: UTF8.self))"
        )
      }
      texts[shared] = text
      known.shared[shared]?.texts = [text]
    }
    return texts
  }

  /// Checks what the program says of conflicts, and that the store is whole.
  func inspect(verifying: Bool) throws {
    let program = "'\(MountedStore.program)'"
    let listed = try shell("\(program) conflicts --mount=.", in: mount.path)
    guard listed.status == 0 else { throw wrong("conflicts: \(listed.output)") }
    for line in listed.output.split(separator: "\n") where line != "no conflicts" {
      guard known.contested.contains(where: { line.hasPrefix($0 + ":") }) else {
        throw wrong("a conflict is listed: \(line); contested are \(known.contested.sorted())")
      }
    }
    guard verifying else { return }
    let verified = try shell("\(program) verify --store='\(mount.store)' -q", seconds: 300)
    guard verified.status == 0 else { throw wrong("verify: \(verified.output)") }
  }

  /// Updates a file, and looks for its bytes in the tree and in the version of them.
  func update() throws {
    let file = unsaved?.name ?? self.file()
    unsaved = nil
    guard let file else { return }
    try overwrite(file)
    try commit()
    for shown in [file, ".llvs/head/\(file)"] {
      let bytes = try FileSystem.read(path(shown), atMost: 1 << 24)
      guard bytes == tree[file]?.bytes else { throw wrong("\(shown): \(bytes.count) other bytes") }
    }
  }

  /// Compares the newest version with the model: names and bytes.
  func checkHead() throws {
    let head = try YearTree(reading: path(".llvs/head/\(name)"))
    let wanted = tree.filter { !Self.isScratch($0) && $0 != name }
    guard Set(head.names.keys.map { "\(name)/\($0)" }) == Set(wanted.names.keys) else {
      throw wrong(
        "the version has \(head.names.keys.sorted()) instead of \(wanted.names.keys.sorted())")
    }
    for (file, _) in head.names where head[file]?.bytes != wanted["\(name)/\(file)"]?.bytes {
      throw wrong("\(file) in the version has other bytes")
    }
  }
}
