import Events
import FuseSession
import Grammar
import LLVSCore
import LLVSMount
import Platform
import TreeNames
import WorkingTree

extension Verb {
  @Sendable static func initialize(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.places(1...1)
    if try FileSystem.exists("\(words[0])/store.sqlite") {
      throw ControlError(.exists, "\(words[0]) is a store already")
    }
    let store = try Store.open(
      path: words[0], mode: .writer, create: true, isForced: line.has("force"))
    console.reply(line, "\(store.path) is an empty store", ["store": store.path])
    return .done
  }

  @Sendable static func mount(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let places = try line.places(2...2)
    let words = try MountWords(line.options["o"] ?? "", store: places[0], mountPoint: places[1])
    guard !words.isRemount else { return try remount(line, words.request, console) }
    var request = words.request
    request.isForced = request.isForced || line.has("force")
    try MountedStores.release(request.store)
    try MountedStores.release(at: request.mountPoint)
    try refuseMounted(request.store)
    let isOverFiles =
      try mount(at: request.mountPoint) == nil
      && !((try? FileSystem.list(request.mountPoint)) ?? []).isEmpty
    if isOverFiles, !line.has("foreground") {
      console.complain(
        "llvs: \(request.mountPoint) is not empty; the files in it are hidden while the store is mounted."
      )
    }
    return line.has("foreground")
      ? try serve(request, console) : try startDaemon(line, request, console)
  }

  private static func refuseMounted(_ store: String) throws {
    guard try FileSystem.exists(store) else { return }
    let path = try FileSystem.resolve(store)
    guard let process = MountedStores.holder(of: "\(path)/lock")?.process,
      let mount = MountedStores.mount(of: path, in: HistoryMount.others(of: try MountTable()))
    else { return }
    let place = PrintableText.text(mount.path)
    throw ControlError(.busy, "\(store) is mounted on \(place) already (process \(process))")
  }

  private static func remount(
    _ line: CommandLine, _ request: MountRequest, _ console: Console
  ) throws -> ExitCode {
    let point = request.mountPoint
    guard try mount(at: point) != nil else {
      throw ControlError(.notFound, "no store is mounted on \(point)")
    }
    try request.flags.remount(try FileSystem.resolve(point))
    console.reply(line, "\(point) has the new options", ["mountPoint": point])
    return .done
  }

  private static func serve(_ request: MountRequest, _ console: Console) throws -> ExitCode {
    var request = request
    SystemProcess.call("llvs")
    // Started while this process is small and has one thread.
    request.watch = ConnectionWatch()
    // Called before the first thread starts: every thread of the process inherits the mask.
    Signals.block(Signals.endings)
    let daemon = try MountDaemon(request)
    // Otherwise the current file system would stay busy. Both paths are resolved.
    SystemProcess.leaveWorkingDirectory()
    for loss in daemon.recovery.losses { console.complain("llvs: \(loss).") }
    if let obstacle = daemon.recovery.obstacle { console.complain("llvs: \(obstacle).") }
    try SystemThread.detach {
      _ = Signals.wait(for: Signals.endings)
      if !daemon.end() { SystemProcess.exitAtOnce(0) }
    }
    if request.hurriesHistory {
      try SystemThread.detach {
        guard let obstacle = daemon.awaitHistory() else { return }
        console.complain("llvs: \(Self.noHistory): \(obstacle)")
      }
    }
    try daemon.serve()
    return .done
  }

  private static let noHistory = "fasthistory is not in force"

  /// Waits until history is mounted as a separate file system, or the daemon has reported a failure.
  private static func awaitHistory(_ path: String, _ errors: File, _ console: Console) throws {
    let place = Array(HistoryMount.path(below: try FileSystem.resolve(path)).utf8)
    let end = SystemClock.monotonic() + 10_000_000_000
    while try MountTable().mount(at: place) == nil {
      let words = String(
        decoding: try errors.read(Int(min(65_536, try errors.status().size)), at: 0),
        as: UTF8.self)
      if let said = words.split(separator: "\n").first(where: { $0.contains(noHistory) }) {
        return console.complain(String(said))
      }
      guard SystemClock.monotonic() < end else { return }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
  }

  /// Starts a daemon in a session of its own, and reports when the mount answers.
  private static func startDaemon(
    _ line: CommandLine, _ request: MountRequest, _ console: Console
  ) throws -> ExitCode {
    // The kernel gives a removed dead mount's ID to the next mount, which would be confused with it.
    _ = try MountPoint.removeStale(request.mountPoint)
    let before = try mount(at: request.mountPoint)
    let errors = try File.unnamed("/tmp/llvs-mount-\(SystemRandom.hex(8))")
    var arguments = ["llvs", "mount", "--foreground"]
    if line.has("force") { arguments.append("--force") }
    if let options = line.options["o"] { arguments += ["-o", options] }
    arguments += ["--", request.store, request.mountPoint]
    let daemon = try ChildProcess.startDetached(arguments: arguments, errors: errors)
    while true {
      if let code = try daemon.exitCode() {
        let size = min(65_536, try errors.status().size)
        let words = String(decoding: try errors.read(Int(size), at: 0), as: UTF8.self)
        console.complain(
          words.isEmpty ? "llvs: the daemon ended before it served." : String(words.dropLast()))
        return ExitCode(rawValue: code) ?? .failed
      }
      if let now = try mount(at: request.mountPoint), now.id != before?.id {
        // The daemon has answered: the tree is mounted.
        _ = try FileSystem.status("\(request.mountPoint)/.")
        _ = try FileSystem.fileSystem(of: request.mountPoint)
        if request.hurriesHistory { try awaitHistory(request.mountPoint, errors, console) }
        break
      }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
    let history = "\(request.mountPoint)/.llvs"
    console.reply(
      line, "\(request.store) is mounted on \(request.mountPoint); history is in \(history)",
      ["store": request.store, "mountPoint": request.mountPoint, "history": history])
    return .done
  }

  private static func mount(at path: String) throws -> MountEntry? {
    // The path of a dead mount cannot be resolved; the new daemon unmounts it.
    guard let resolved = try? FileSystem.resolve(path) else { return nil }
    let entry = try MountTable().mount(at: Array(resolved.utf8))
    return entry?.type == "fuse.llvs" ? entry : nil
  }

  @Sendable static func unmount(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let point = try line.places(1...1)[0]
    try MountedStores.release(at: point)
    if try MountPoint.removeStale(point) {
      console.reply(
        line, "\(point) had lost its daemon and is free", ["mountPoint": point])
      return .done
    }
    guard let entry = try mount(at: point) else {
      throw ControlError(.notFound, "no store is mounted on \(point)")
    }
    let others = try Self.others(of: entry)
    if let first = others.first, first.isFirst {
      // The daemon serves the other mount; a bind mount is unmounted alone.
      try release(point, entry, isForced: line.has("force"))
      let still = FileSystem.text(first.entry.path)
      console.reply(
        line, "\(point) is unmounted; the store is still mounted on \(still)",
        ["mountPoint": point, "stillMounted": still])
      return .done
    }
    let store: String
    do {
      store = try MountedStores.store(of: entry)
    } catch let error as SystemError where error.errno == Errno.accessDenied {
      // A user who may not search a mount usually may not unmount it either: the kernel decides.
      try release(point, entry, isForced: line.has("force"))
      console.reply(line, "\(point) is unmounted", ["mountPoint": point])
      return .done
    }
    let lock = "\(store)/lock"
    guard let daemon = MountedStores.holder(of: lock)?.process else {
      try release(point, entry, isForced: line.has("force"))
      console.reply(line, "\(point) is unmounted", ["mountPoint": point])
      if try !FileSystem.exists(lock) {
        throw ControlError(
          .notFound, "\(store) is not there any more: what was in no version yet is not kept")
      }
      return .done
    }
    if !line.has("force") { try refuseUse(of: entry, besides: daemon) }
    var events = EventLog(directory: store).reader()
    while !events.next().isEmpty {}
    try SystemProcess.terminate(daemon)
    // umount(2) does not wait for a daemon: the store's lock is free when the daemon has ended.
    while MountedStores.holder(of: lock)?.process == daemon {
      SystemClock.sleep(nanoseconds: 20_000_000)
    }
    // The daemon does not know bind mounts: these are dead now, perhaps this one too.
    for place in [point] + others.map({ FileSystem.text($0.entry.path) }) {
      try MountPoint.removeStale(place)
    }
    guard try mount(at: point)?.id != entry.id else {
      throw ControlError(.busy, "\(point) is still mounted though its daemon ended")
    }
    let bytes = try? File.regular(lock, .read).read(8192, at: 0)
    let end = LastWriterStatus(of: daemon, inLock: String(decoding: bytes ?? [], as: UTF8.self))
    let unsaved = end.unsaved.map { "; not saved, and kept for the next mount: \($0)" } ?? ""
    let lost = end.failure ?? lostCut(&events)
    if !line.isJSON || lost == nil && end.damaged == nil {
      console.reply(
        line, "\(point) is unmounted\(unsaved)",
        ["mountPoint": point, "unsaved": end.unsaved])
    }
    if let reason = lost {
      throw ControlError(
        end.lacksSpace ? .noSpace : .refused,
        "the last version was not made: \(reason); what is in none is kept for the next mount")
    }
    if let names = end.damaged { throw ControlError(.damaged, "damaged, in no version: \(names)") }
    return .done
  }

  /// Returns the other mounts of the file system in order; `isFirst` if older than this one.
  private static func others(of entry: MountEntry) throws -> [(entry: MountEntry, isFirst: Bool)] {
    let same = try MountTable().entries.filter { $0.device == entry.device && $0.isFuse }
    let own = same.firstIndex { $0.id == entry.id } ?? 0
    return same.indices.filter { $0 != own }.map { (same[$0], $0 < own) }
  }

  /// Throws ``ControlError`` busy while something is mounted inside or programs have files open.
  private static func refuseUse(of entry: MountEntry, besides daemon: Int32) throws {
    let table = try MountTable()
    let inside = HistoryMount.others(of: table).first { $0.path.starts(with: entry.path + [0x2F]) }
    if let inside {
      throw ControlError(
        .busy, "\(FileSystem.text(inside.path)) is mounted inside; unmount that first")
    }
    let point = FileSystem.text(entry.path)
    if let other = try others(of: entry).first {
      let place = FileSystem.text(other.entry.path)
      throw ControlError(.busy, "\(point) is mounted on \(place) too; unmount that first")
    }
    if let use = use(of: entry, table, besides: [daemon]) { throw use }
  }

  /// Unmounts a mount whose daemon continues, or is unknown.
  /// - Throws: ``ControlError`` of kind busy, with the programs that use the mount; ``FuseError``.
  private static func release(_ point: String, _ entry: MountEntry, isForced: Bool) throws {
    do {
      try MountPoint.unmount(point, lazily: isForced)
    } catch {
      guard case .unmount(_, let code) = error, code == Errno.busy else { throw error }
      if let use = use(of: entry, try MountTable(), besides: []) { throw use }
      throw ControlError(
        .busy,
        "\(point) is busy: a program of another user uses it, which root finds with: fuser -vm \(point)"
      )
    }
  }

  /// Returns the error that names the programs that use a mount, with their paths; nil if none is found.
  private static func use(
    of entry: MountEntry, _ table: MountTable, besides spared: [Int32]
  ) -> ControlError? {
    let point = FileSystem.text(entry.path)
    let history = table.mount(at: Array(HistoryMount.path(below: point).utf8))
    let uses = SystemProcess.uses(
      ofDevices: Set([entry.device] + (history.map { [$0.device] } ?? [])),
      besides: Set(spared + [SystemProcess.id]))
    guard !uses.isEmpty else { return nil }
    // A bind mount has the device of the other mount.
    let own = uses.filter { $0.path.starts(with: entry.path) }
    let shown = own.isEmpty ? uses : own
    var words = shown.prefix(3).map { use in
      let path = PrintableText.text(use.path)
      let who = "\(use.program) (\(use.process))"
      switch use.kind {
      case .opened: return "\(who) has \(path) open"
      case .mapped: return "\(who) has \(path) mapped"
      case .directory: return "\(who) works in \(path)"
      }
    }
    if shown.count > 3 { words.append("and \(shown.count - 3) more") }
    return ControlError(
      .busy,
      "\(point) is busy: \(words.joined(separator: ", ")); close these files, leave these directories or end the "
        + "programs, and unmount again; --force detaches it all the same")
  }

  /// Returns the logged reason why a mount's last version could not be made; nil if it was.
  private static func lostCut(_ events: inout EventReader) -> String? {
    var bytes: [UInt8] = []
    while true {
      let part = events.next()
      if part.isEmpty { break }
      bytes += part
    }
    // The log has a line for each attempt: the last line counts.
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    for event in lines.reversed().lazy.compactMap({ LoggedEvent(line: $0) }) {
      if event.kind == .version { return nil }
      if let lost = LostVersion(event) { return lost.reason }
    }
    return nil
  }
}
