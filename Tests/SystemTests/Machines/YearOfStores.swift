import Foundation
import Platform
import TestSupport

/// A year of three machines in fast motion.
///
/// The first machine is mounted again and again, dies, loses power, fills its disk and is restored from backups.
/// It exchanges with each of the others through a folder.
final class YearOfStores {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The end of a mount.
  enum End: String, CaseIterable {
    case unmount, kill, killDuringCommand, powerCut, fullDisk, restore
  }

  private let first: YearMachine
  private let others: [YearMachine]
  private let directory: String
  private let disk: LoopDisk?
  private let clock: FakeClock?
  private var random: SeededRandom
  /// What the folders of the others hold.
  private var folders: [YearKnowledge] = [YearKnowledge(), YearKnowledge()]
  private var writes = 0
  private var day = 0
  private var backup: (path: String, known: YearKnowledge, tree: YearTree)?
  /// What the first machine may know after a command that was cut off.
  private var candidates: [YearKnowledge] = []
  private(set) var ends: [String: Int] = [:]
  private(set) var versions = 0
  /// How many steps the power cuts took back.
  var lost: Int { first.lost }

  /// What each machine did last.
  var steps: String {
    ([first] + others).map { machine in
      "\(machine.name):\n\(machine.log.suffix(40).joined(separator: "\n"))"
    }.joined(separator: "\n")
  }

  /// Starts with a store that a program of an older format left, with changes in no version.
  init(seed: UInt64, mebibytes: Int) throws {
    random = SeededRandom(seed: seed)
    let mounts = try (0..<3).map { _ in try MountedStore() }
    directory = mounts[0].directory
    disk =
      LoopDisk.isPossible
      ? try LoopDisk(at: mounts[0].store, image: directory + "/image", mebibytes: mebibytes) : nil
    clock = FakeClock.isPossible ? try FakeClock(file: directory + "/clock") : nil
    let paths = ["b", "c"].map { [directory] in "\(directory)/folder-\($0)" }
    first = YearMachine("a", mounts[0], random: SeededRandom(seed: random.next()))
    let seeds = [random.next(), random.next()]
    others = [0, 1].map {
      YearMachine(["b", "c"][$0], mounts[$0 + 1], random: SeededRandom(seed: seeds[$0]))
    }
    for path in paths { try FileSystem.makeDirectory(path) }
  }

  func tearDown() {
    for machine in [first] + others { try? machine.mount.kill() }
    disk?.remove()
    for machine in [first] + others { machine.mount.tearDown() }
  }

  private func run(_ script: String) throws {
    let result = try shell("set -eo pipefail\n" + script, in: directory, seconds: 120)
    guard result.status == 0 else { throw Failure(description: "\(script): \(result.output)") }
  }

  // MARK: - The beginning

  /// Mounts a store of an archive, whose tree is what the archive says, and lets the others have it.
  func begin(with archive: String) throws {
    try run(
      "mkdir -p store old; tar -C old -xpzf '\(archive)'; cp -a old/store/. store; chmod 700 store; sync -f store"
    )
    let old = try YearTree(reading: directory + "/old/tree")
    first.tree = old.filter { $0 == "a" || $0.hasPrefix("a/") }
    for name in old.names.keys where name.hasPrefix("shared/") {
      first.known.shared[name] = .init(
        writes: [nextWrite()], texts: [String(decoding: old[name]?.bytes ?? [], as: UTF8.self)])
    }
    // A program had not seen its undo.
    first.known.contested = ["shared/s2"]
    try mount()
    try first.inspect(verifying: true)
    try first.update()
    try first.check()
    try first.checkHead()
    for index in others.indices { try first.meet(others[index].name, at: address(index)) }
    try sync()
    for (index, machine) in others.enumerated() {
      try machine.mount.mount()
      try machine.control("set settle=1h")
      try machine.control("set machine=\(machine.name)")
      try machine.meet("hub", at: address(index))
      try sync(machine)
      try FileSystem.makeDirectory(machine.path(machine.name), permissions: 0o700)
      machine.tree.make(machine.name, .init(kind: .directory, mode: 0o700))
      for _ in 0..<8 { try machine.step(withScratch: false) }
      try sync(machine)
      try machine.check()
    }
    try sync()
    try first.check()
  }

  /// The folder of another machine: one of bundles, and one as the original has it.
  private func address(_ index: Int) -> String {
    "\(["bundle+", "plain+"][index])\(directory)/folder-\(others[index].name)"
  }

  private func nextWrite() -> Int {
    writes += 1
    return writes
  }

  private func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  // MARK: - Exchanges

  /// Syncs the first machine with both folders.
  private func sync() throws {
    try first.control("sync")
    first.states = []
    versions += 1
    first.noteVersion()
    for folder in folders { first.known.merge(folder) }
    let texts = try first.settleTexts()
    for index in folders.indices {
      folders[index] = first.known
      for (name, text) in texts { folders[index].shared[name]?.texts = [text] }
    }
  }

  private func sync(_ machine: YearMachine) throws {
    guard let index = others.firstIndex(where: { $0 === machine }) else { return }
    try machine.control("sync")
    machine.states = []
    machine.noteVersion()
    machine.known.merge(folders[index])
    _ = try machine.settleTexts()
    folders[index] = machine.known
  }

  /// Lets another machine work.
  private func workElsewhere() throws {
    let machine = others[below(2)]
    for _ in 0...below(3) { try machine.step(withScratch: false) }
    if below(3) == 0 { try writeShared(machine) }
    if below(4) > 0 { try sync(machine) }
    guard below(12) == 0 else { return }
    if below(2) == 0 { try machine.mount.kill() } else { try machine.mount.unmount() }
    try machine.mount.mount()
    try machine.check()
    try machine.inspect(verifying: true)
  }

  private func writeShared(_ machine: YearMachine) throws {
    try machine.writeShared("shared/s\(below(6))", number: nextWrite())
    if machine === first {
      try commit()
    } else {
      try machine.commit()
    }
  }

  private func commit() throws {
    try first.commit()
    versions += 1
  }

  /// Lets all machines agree, and closes all conflicts.
  private func agree() throws {
    func syncAll() throws {
      for _ in 0..<2 {
        for machine in others { try sync(machine) }
        try sync()
      }
      for machine in others { try sync(machine) }
    }
    try syncAll()
    if try !FileSystem.list(first.path(".llvs/conflicts")).isEmpty {
      try first.control("settle --all")
    }
    try syncAll()
    for machine in [first] + others {
      machine.known.contested = []
      try machine.check()
      try machine.inspect(verifying: false)
    }
    for index in folders.indices { folders[index].contested = [] }
  }

  // MARK: - A mount

  private func mount() throws {
    day += 1
    let jumps = ["+\(day)d", "+\(day)d", "+\(day - 3)d", "+\(day + 400)d", "-\(day)d"]
    try clock?.set(jumps[below(jumps.count)])
    try first.mount.mount(environment: clock?.environment() ?? [:])
    try first.check(candidates)
    candidates = []
  }

  /// Lives from one mount to the next one.
  func live(rounds: Int, verifying: Bool, end: End) throws {
    try first.inspect(verifying: verifying)
    try first.update()
    versions += 1
    try first.control("set settle=\(["30ms", "300ms", "2s", "1h"][below(4)])")
    try first.control("set reserve=0")
    for _ in 0..<rounds {
      for _ in 0...below(5) { try first.step(withScratch: true) }
      if below(6) == 0 { try writeShared(first) }
      if below(3) == 0 { try workElsewhere() }
      switch below(5) {
      case 0: try sync()
      case 1: break
      default: try commit()
      }
    }
    try commit()
    try first.checkHead()
    if below(8) == 0 { try agree() }
    if below(5) == 0 { try makeBackup() }
    try self.end(end)
    ends[end.rawValue, default: 0] += 1
  }

  private func makeBackup() throws {
    try first.mark()
    let path = directory + "/backup"
    try run(
      """
      rm -rf '\(path)'
      '\(MountedStore.program)' backup '\(path)' --mount='\(first.mount.path)' --with-settings -q
      """
    )
    first.noteVersion()
    backup = (path, first.known, first.tree)
  }

  private func end(_ end: End) throws {
    for _ in 0...below(4) { try first.step(withScratch: true) }
    first.say("-- \(end)")
    switch end {
    case .unmount:
      try first.mount.unmount()
      first.states = []
    case .kill:
      try first.leaveOpen()
      try first.mount.kill()
    case .killDuringCommand: try killDuringCommand()
    case .powerCut: try cutPower()
    case .fullDisk: try fillDisk()
    case .restore: try restore()
    }
    try mount()
    if end == .killDuringCommand { try sync() }
  }

  private func killDuringCommand() throws {
    let command = ["commit", "sync", "sync", "sync"][below(4)]
    first.noteVersion()
    var after = first.known
    if command == "sync" { for folder in folders { after.merge(folder) } }
    candidates = [first.known, after]
    let path = first.path(".llvs/control")
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      if let file = try? File(path, .readWrite) {
        try? file.writeOnce(Array("\(command)\n".utf8), at: 0)
      }
      isDone.signal()
    }
    usleep(UInt32(below(120_000)))
    try first.mount.kill()
    isDone.wait()
  }

  /// Makes a version, and brings also what enters none to the disk.
  private func makeDurable() throws {
    try commit()
    try FileSystem.syncDirectory(first.path(first.name))
  }

  private func cutPower() throws {
    guard let disk else { return try first.mount.kill() }
    try makeDurable()
    for _ in 0..<(5 + below(20)) { try first.step(withScratch: true) }
    if below(3) == 0 { try makeDurable() }
    if below(3) == 0 { usleep(UInt32(below(6_000_000))) }
    try first.mount.kill()
    try disk.cutPower()
    try PowerDisk.reboot(first.mount.store)
    first.isAfterPowerCut = true
  }

  /// Lets another program and then this one fill the disk, and makes room again.
  private func fillDisk() throws {
    guard let disk else { return try first.mount.unmount() }
    try commit()
    let ballast = disk.path + "/ballast"
    let free = try FileSystem.fileSystem(of: disk.path).availableBytes
    if free > 6 << 20 { try run("fallocate -l \(free - 6 << 20) '\(ballast)'") }
    let filled = try first.fill()
    if below(2) == 0 { try first.mount.kill() } else { try first.mount.unmount() }
    try mount()
    try first.empty(filled)
    try run("rm -f '\(ballast)'")
    try commit()
    if below(2) == 0 { try first.mount.kill() } else { try first.mount.unmount() }
  }

  /// Puts the last backup in the place of the store, and gets from the others what was made since.
  private func restore() throws {
    if below(2) == 0 { try first.mount.kill() } else { try first.mount.unmount() }
    guard let backup else { return }
    try run(
      """
      find store -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf {} +
      cp -a backup/. store; sync -f store
      """
    )
    first.known = backup.known
    first.tree = backup.tree
    first.states = []
    try mount()
    try first.inspect(verifying: true)
    try sync()
    // The own directory as it was last sent, and the files here that enter no version.
    if let owned = first.known.owned[first.name] {
      let scratch = first.tree.filter(YearMachine.isScratch)
      first.tree = owned.tree
      first.tree.add(scratch)
    }
    try first.check()
    if below(2) == 0 { try first.mount.kill() } else { try first.mount.unmount() }
  }
}
