import Foundation
import Platform
import TestSupport

extension YearMachine {
  /// The greatest number of names in the own directory.
  private static let most = 60

  /// Notes the state before a step, and the names that the step touches.
  private func begin(_ step: String, _ touched: Set<String>) {
    say(step)
    states.append((tree, touched))
    known.owned[name] = ((known.owned[name]?.turn ?? 0) + 1, tree)
  }

  private func bytes(_ count: Int) -> [UInt8] { random.bytes(count) }

  private func length() -> Int {
    below(12) == 0 ? [4096, 65_536, 70_000, 200_000][below(4)] : below(3000)
  }

  /// A directory of the own ones.
  private func directory() -> String {
    tree.names(of: .directory).randomElement(using: &random) ?? name
  }

  private func newName(in directory: String? = nil) -> String {
    count += 1
    // Names come again, so that what was removed is made again.
    return "\(directory ?? self.directory())/f\(below(3) == 0 ? below(20) : count)"
  }

  /// A file that may be changed.
  func file(where isWanted: (String) -> Bool = { _ in true }) -> String? {
    tree.names(of: .regular).filter { !Self.isScratch($0) && !Self.isMark($0) && isWanted($0) }
      .randomElement(using: &random)
  }

  /// True for a file that is made once and stays as it is.
  private static func isMark(_ name: String) -> Bool { name.hasSuffix(".mark") }

  // MARK: - Steps

  /// Does something to the own directory.
  func step(withScratch: Bool) throws {
    if withScratch, below(12) == 0 { return try scratch() }
    if tree.names.count > Self.most, below(2) == 0 { return try removeSomething() }
    guard let file = file() else { return try make() }
    switch below(20) {
    case 0, 1, 2: try make()
    case 3, 4: try overwrite(file)
    case 5, 6: try replace(file)
    case 7, 8: try append(file)
    case 9: try patch(file)
    case 10: try truncate(file)
    case 11, 12: try rename(file)
    case 13: try link(file)
    case 14: try makeDirectory()
    case 15: try renameDirectory()
    case 16: try changeMode()
    case 17: try symlink()
    case 18: try exchange(file)
    default: try removeSomething()
    }
  }

  private func make() throws {
    let name = newName()
    guard tree.names[name] == nil else { return }
    let data = bytes(length())
    begin("make \(name), \(data.count)", [name])
    try File(path(name), [.write, .create, .exclusive], permissions: 0o600).write(data, at: 0)
    tree.make(name, .init(kind: .regular, mode: 0o600, bytes: data))
  }

  func overwrite(_ name: String) throws {
    let data = bytes(length())
    begin("overwrite \(name), \(data.count)", tree.links(of: name))
    try File(path(name), [.write, .truncate]).write(data, at: 0)
    tree[name]?.bytes = data
  }

  /// Saves as editors do.
  private func replace(_ name: String) throws {
    let data = bytes(length())
    let temporary = name + ".new"
    begin("replace \(name), \(data.count)", [name, temporary])
    let file = try File(path(temporary), [.write, .create, .exclusive], permissions: 0o640)
    try file.write(data, at: 0)
    if below(3) == 0 { try file.sync() }
    try FileSystem.rename(path(temporary), to: path(name))
    tree.make(name, .init(kind: .regular, mode: 0o640, bytes: data))
  }

  private func append(_ name: String) throws {
    let data = bytes(1 + below(500))
    begin("append \(name), \(data.count)", tree.links(of: name))
    try File(path(name), [.write, .append]).write(data, at: UInt64(tree[name]?.bytes.count ?? 0))
    tree[name]?.bytes += data
  }

  private func patch(_ name: String) throws {
    let size = tree[name]?.bytes.count ?? 0
    let data = bytes(1 + below(300))
    let start = below(size + 50)
    begin("patch \(name) at \(start), \(data.count)", tree.links(of: name))
    try File(path(name), .readWrite).write(data, at: UInt64(start))
    var all = tree[name]?.bytes ?? []
    all += [UInt8](repeating: 0, count: max(0, start + data.count - all.count))
    all.replaceSubrange(start..<(start + data.count), with: data)
    tree[name]?.bytes = all
  }

  private func truncate(_ name: String) throws {
    let old = tree[name]?.bytes ?? []
    let size = below(old.count + 200)
    begin("truncate \(name) to \(size)", tree.links(of: name))
    try File(path(name), .write).truncate(to: UInt64(size))
    tree[name]?.bytes =
      old.prefix(size) + [UInt8](repeating: 0, count: max(0, size - old.count))
  }

  private func rename(_ name: String) throws {
    let new = below(3) == 0 ? file() ?? newName() : newName()
    guard tree[new].map({ $0.kind == .regular }) ?? true, !Self.isMark(new) else { return }
    begin("rename \(name) to \(new)", [name, new])
    try FileSystem.rename(path(name), to: path(new))
    tree.rename(name, new)
  }

  private func link(_ name: String) throws {
    let new = newName()
    guard tree.names[new] == nil else { return }
    begin("link \(name) to \(new)", [new])
    try FileSystem.link(path(name), to: path(new))
    tree.link(name, new)
  }

  private func exchange(_ name: String) throws {
    guard let other = file(where: { $0 != name }) else { return }
    begin("exchange \(name) and \(other)", [name, other])
    try FileSystem.rename(path(name), to: path(other), .exchanging)
    tree.exchange(name, other)
  }

  private func makeDirectory() throws {
    let name = newName()
    guard tree.names[name] == nil, name.filter({ $0 == "/" }).count < 5 else { return }
    begin("mkdir \(name)", [name])
    try FileSystem.makeDirectory(path(name), permissions: 0o700)
    tree.make(name, .init(kind: .directory, mode: 0o700))
  }

  private func renameDirectory() throws {
    let (old, parent) = (directory(), directory())
    guard old != name, parent != old, !parent.hasPrefix(old + "/") else { return }
    let new = newName(in: parent)
    guard tree.names[new] == nil else { return }
    let names = tree.below(old)
    begin("rename \(old)/ to \(new)/", names.union(names.map { new + $0.dropFirst(old.count) }))
    try FileSystem.rename(path(old), to: path(new))
    tree.rename(old, new)
  }

  private func changeMode() throws {
    guard let name = below(3) == 0 ? directory() : file() else { return }
    let mode: UInt32 = [0o700, 0o750, 0o755, 0o711][below(4)]
    begin("chmod \(String(mode, radix: 8)) \(name)", tree.links(of: name))
    try FileSystem.setMode(Array(path(name).utf8), mode)
    tree[name]?.mode = mode
  }

  private func symlink() throws {
    let (name, target) = (newName(), "../\(below(100))")
    guard tree.names[name] == nil else { return }
    begin("symlink \(name)", [name])
    try FileSystem.symlink(target, at: path(name))
    tree.make(name, .init(kind: .symlink, mode: 0o777, bytes: Array(target.utf8)))
  }

  private func removeSomething() throws {
    let all = tree.names.keys.filter { $0 != name && !Self.isScratch($0) && !Self.isMark($0) }
    guard let name = all.sorted().randomElement(using: &random) else { return }
    begin("rm -r \(name)", tree.below(name))
    try FileSystem.removeTree(path(name))
    tree.remove(name)
  }

  /// Writes a file that enters no version, or lets a file become one or stop to be one.
  private func scratch() throws {
    let scratch = "\(name)/\(below(5)).scratch"
    switch (tree[scratch], below(3)) {
    case (.some, 0):
      try overwrite(scratch)
    case (.some, 1):
      let new = newName(in: name)
      guard tree.names[new] == nil else { return }
      begin("rename \(scratch) to \(new)", [scratch, new])
      try FileSystem.rename(path(scratch), to: path(new))
      tree.rename(scratch, new)
    case (.some, _):
      begin("rm \(scratch)", [scratch])
      try FileSystem.unlink(path(scratch))
      tree.remove(scratch)
    case (nil, 0):
      guard let old = file(where: { tree.links(of: $0).count == 1 }) else { return }
      begin("rename \(old) to \(scratch)", [scratch, old])
      try FileSystem.rename(path(old), to: path(scratch))
      tree.rename(old, scratch)
    case (nil, _):
      let data = bytes(below(2000))
      begin("make \(scratch)", [scratch])
      try File(path(scratch), [.write, .create], permissions: 0o600).write(data, at: 0)
      tree.make(scratch, .init(kind: .regular, mode: 0o600, bytes: data))
    }
  }

  /// Makes a file that nothing changes from then on.
  func mark() throws {
    count += 1
    let name = "\(self.name)/\(count).mark"
    begin("mark \(name)", [name])
    try File(path(name), [.write, .create], permissions: 0o600).write(Array(name.utf8), at: 0)
    tree.make(name, .init(kind: .regular, mode: 0o600, bytes: Array(name.utf8)))
  }

  /// Writes to a file and leaves it open.
  func leaveOpen() throws {
    guard let name = file() else { return }
    let data = bytes(100)
    begin("append \(name) and leave it open", tree.links(of: name))
    let file = try File(path(name), [.write, .append])
    try file.write(data, at: UInt64(tree[name]?.bytes.count ?? 0))
    tree[name]?.bytes += data
    unsaved = (name, file)
  }

  /// Writes a shared file; the number of the write is new.
  func writeShared(_ shared: String, number: Int) throws {
    let text = "\(name) \(number)\n"
    say("write \(shared): \(text.dropLast())")
    try File(path(shared), [.write, .create, .truncate], permissions: 0o600)
      .write(Array(text.utf8), at: 0)
    var state = known.shared[shared] ?? .init()
    state.writes.insert(number)
    state.texts = [text]
    known.shared[shared] = state
  }
}

// MARK: - A full disk

extension YearMachine {
  /// Writes files until no more fits, and compares all with the model.
  ///
  /// - Returns: the files.
  func fill() throws -> [String] {
    var names: [String] = []
    for round in 0..<400 {
      let name = "\(self.name)/fill\(round)"
      names.append(name)
      let data = random.bytes([3000, 50_000, 1 << 20][round % 3])
      do {
        let file = try File(path(name), [.write, .create, .exclusive], permissions: 0o600)
        tree.make(name, .init(kind: .regular, mode: 0o600))
        for start in stride(from: 0, to: data.count, by: 65_536) {
          let part = Array(data[start..<min(start + 65_536, data.count)])
          try file.write(part, at: UInt64(start))
          tree[name]?.bytes += part
        }
      } catch {
        guard error.errno == ENOSPC else { throw wrong("\(error)") }
        // A part of the write that failed may be there.
        if let found = try? FileSystem.read(path(name), atMost: 1 << 21) {
          let answered = tree[name]?.bytes ?? []
          guard found.starts(with: answered), data.starts(with: found) else {
            throw wrong("\(name): \(found.count) bytes instead of \(answered.count)")
          }
          tree[name]?.bytes = found
        }
        say("full at \(name)")
        break
      }
    }
    known.owned[self.name]?.turn += 1
    try check()
    return names
  }

  /// Removes files that filled the disk.
  func empty(_ names: [String]) throws {
    for name in names where tree.names[name] != nil {
      try FileSystem.unlink(path(name))
      tree.remove(name)
    }
    known.owned[self.name]?.turn += 1
    noteVersion()
  }
}
