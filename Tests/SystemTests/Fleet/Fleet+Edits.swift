import HistoryTree
import LLVSCore
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

// What programs do to a tree, at random.

extension Fleet {
  private static let names = [
    "f0", "f1", "n", "ü", "new\nline", String(repeating: "x", count: 200), "g0.json", "d1", "d2",
    "%llvs%q", "e\u{301}",
  ]
  private static let deeds =
    Array(repeating: "edit", count: 5) + [
      "new", "new", "rm", "mv", "mv", "mvdir", "rmdir", "chmod", "xattr", "touch", "link", "sym",
      "type", "dir2file", "file2dir", "mkdir", "json", "trunc", "replace", "pipe", "symedit",
    ]

  /// One deed of a program in a member's tree; those that cannot be done there are not.
  func edit(_ member: Int) throws {
    let deed = Self.deeds.randomElement(using: &random) ?? ""
    do {
      try edit(member, deed)
    } catch let error as FSError {
      switch error {
      case .exists, .isDirectory, .notDirectory, .noEntry, .notEmpty, .invalid, .noData,
        .nameTooLong, .notPermitted:
        note("  \(error)")
      default: throw Difference("m\(member) \(deed): \(error)")
      }
    }
  }

  private func edit(_ member: Int, _ deed: String) throws {
    let kernel = members[member].kernel
    let all = try members[member].paths()
    let files = all.filter { $0.kind != .directory }.map(\.path)
    let regular = all.filter { $0.kind == .regular }.map(\.path)
    let directories = all.filter { $0.kind == .directory }.map(\.path)
    func place() -> String {
      let directory = (directories + [""]).randomElement(using: &random) ?? ""
      let name = Self.names.randomElement(using: &random) ?? "n"
      return directory.isEmpty ? name : directory + "/" + name
    }
    func any(_ paths: [String]) -> String? { paths.randomElement(using: &random) }
    func say(_ paths: String...) {
      note("m\(member) \(deed) \(paths.map { String(reflecting: $0) }.joined(separator: " "))")
    }
    func text(_ path: String) throws -> [UInt8] { try kernel.bytes(at: path) }
    switch deed {
    case "edit":
      guard let path = any(regular) else { return }
      var lines = try text(path).split(separator: 0x0A, omittingEmptySubsequences: false)
      let line = Int.random(in: 0..<lines.count, using: &random)
      lines[line] = Array(mark(member).utf8)[...]
      say(path)
      try kernel.save(path, Array(lines.joined(separator: [0x0A])))
    case "json":
      guard let path = any(regular.filter { $0.hasSuffix(".json") }) else { return }
      let bytes = try text(path)
      guard bytes.first == 0x7B else { return }
      let key = Int.random(in: 0..<7, using: &random)
      say(path)
      try kernel.save(path, Array("{\"k\(key)\": \"\(mark(member))\",".utf8) + bytes.dropFirst())
    case "trunc":
      guard let path = any(regular) else { return }
      say(path)
      try kernel.resize(path, to: UInt64(text(path).count / 2))
    case "replace":
      guard let path = any(regular) else { return }
      say(path)
      try kernel.save(path + ".new", Array("\(mark(member))\n".utf8))
      try kernel.rename(path + ".new", path)
    case "new":
      let path = place()
      say(path)
      try kernel.save(path, Array("\(mark(member))\n".utf8))
    case "mkdir":
      let path = place()
      say(path)
      try kernel.makeDirectory(path)
    case "rm":
      guard let path = any(files) else { return }
      say(path)
      try kernel.remove(path)
    case "mv", "mvdir":
      guard let from = any(deed == "mv" ? files : directories) else { return }
      let to = place()
      say(from, to)
      guard !to.hasPrefix(from + "/") else { return }
      try kernel.rename(from, to)
    case "rmdir":
      guard let path = any(directories) else { return }
      say(path)
      try kernel.removeAll(path)
    case "chmod":
      guard let path = any(regular + directories) else { return }
      let mode = [0o600, 0o644, 0o755, 0o640, 0o700].randomElement(using: &random) ?? 0o600
      say(path, "\(mode)")
      try kernel.change(path) { $0.mode = UInt32(mode) }
    case "xattr":
      guard let path = any(regular) else { return }
      let name = chance(50) ? "user.a" : "user.b"
      say(path, name)
      let value = Array(mark(member).utf8)
      // Those of one name are long, which a node leaves to the versions that have them.
      let count = name == "user.b" ? Entry.longAttributes : 1
      try kernel.setExtended(
        path, name, chance(30) ? nil : Array(repeatElement(value, count: count).joined()))
    case "touch":
      guard let path = any(regular + directories) else { return }
      let seconds = Int64.random(in: 0..<1_000_000_000, using: &random)
      say(path)
      try kernel.change(path) { $0.mtime = Attributes.Time(seconds: seconds, nanoseconds: 5) }
    case "link":
      guard let from = any(regular) else { return }
      let to = place()
      say(from, to)
      try kernel.link(from, to)
    case "sym":
      let path = place()
      say(path)
      try kernel.makeLink(path, to: mark(member))
    case "symedit":
      guard let path = any(all.filter { $0.kind == .symlink }.map(\.path)) else { return }
      say(path)
      try kernel.remove(path)
      try kernel.makeLink(path, to: mark(member))
    case "pipe":
      let path = place()
      say(path)
      try kernel.makePipe(path)
    case "type":
      guard let path = any(files) else { return }
      say(path)
      try kernel.remove(path)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: try kernel.makeLink(path, to: mark(member))
      case 1: try kernel.makePipe(path)
      default: try kernel.makeDirectory(path)
      }
    case "file2dir":
      guard let path = any(files) else { return }
      say(path)
      try kernel.remove(path)
      try kernel.makeDirectory(path)
      try kernel.save(path + "/in", Array(mark(member).utf8))
    default:
      guard let path = any(directories) else { return }
      say(path)
      try kernel.removeAll(path)
      try kernel.save(path, Array(mark(member).utf8))
    }
  }

  // MARK: - Files that stay open

  /// Opens a file for steps to come, or writes through one that is open, or closes it.
  func holdOrUse(_ member: Int) throws {
    let kernel = members[member].kernel
    let own = held.indices.filter { held[$0].member == member }
    guard own.count == 3 || chance(70), let index = own.randomElement(using: &random) else {
      let regular = try members[member].paths().filter { $0.kind == .regular }.map(\.path)
      guard let path = regular.randomElement(using: &random) else { return }
      note("m\(member) open \(String(reflecting: path))")
      let file = try kernel.open(path, chance(70) ? [.read, .write] : .read)
      held.append(Held(file: file, member: member))
      return
    }
    let file = held[index].file
    if file.handle.mode.contains(.write), chance(70) {
      let text = mark(member)
      let appends = chance(60)
      note("m\(member) \(appends ? "append to" : "write into") \(file.id) \(text)")
      try kernel.write(
        file, Array("\(text)\n".utf8),
        at: appends ? try kernel.tree.getattr(file.id).size : 0)
      if chance(50) { try kernel.flush(file) } else { try kernel.sync(file) }
    } else {
      note("m\(member) close \(file.id)")
      try kernel.close(file)
      held.remove(at: index)
    }
  }
}
