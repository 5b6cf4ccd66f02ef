import Platform
import TestSupport
import Testing

// What is done to names and directories rather than to bytes, and files that change hands.

extension RandomWork {
  /// Two names change places.
  mutating func swap() throws {
    let (one, other) = (try name(), try name())
    guard let first = side.files[one], let second = side.files[other], first !== second else {
      return
    }
    say("exchange \(one) and \(other)")
    try FileSystem.rename(side.path(one), to: side.path(other), .exchanging)
    side.files[one] = second
    side.files[other] = first
  }

  mutating func setMode() throws {
    let name = try name()
    guard let content = side.files[name] else { return }
    let mode: UInt32 = [0o644, 0o600, 0o755, 0o640][below(4)]
    say("chmod \(String(mode, radix: 8)) \(name)")
    try FileSystem.setMode(Array(side.path(name).utf8), mode)
    content.mode = mode
  }

  mutating func setTime() throws {
    let name = try name()
    guard let content = side.files[name] else { return }
    let seconds = Int64(1_000_000_000 + below(1_000_000))
    say("touch -d @\(seconds) \(name)")
    try FileSystem.setModified(
      Array(side.path(name).utf8), seconds: seconds, nanoseconds: 0)
    content.modified = seconds
  }

  /// A directory with all that is in it gets another name; or one of the other's files is in it, and it stays.
  mutating func renameDirectory() throws {
    let directories = Set(side.files.keys.compactMap { Self.directory(of: $0) }).sorted()
    guard let from = directories.filter({ $0 != "both" }).randomElement(using: &random),
      let other = sides.first(where: { $0 !== side })
    else { return }
    count += 1
    let to = "d\(side.letter)\(count)"
    guard !other.files.keys.contains(where: { Self.directory(of: $0) == from }) else { return }
    say("rename \(from)/ to \(to)/")
    try FileSystem.rename(side.path(from), to: side.path(to))
    for (name, content) in side.files where Self.directory(of: name) == from {
      side.files[name] = nil
      side.files[to + name.dropFirst(from.count)] = content
    }
  }

  /// A symbolic link is made, points elsewhere, goes to another name, or goes.
  mutating func point() throws {
    let names = (0..<4).map { "\(side.letter)s\($0)" } + ["both/\(side.letter)s"]
    let name = names[below(names.count)]
    if name.hasPrefix("both/"), try !FileSystem.exists(side.path("both")) { return }
    let target = String(repeating: "t", count: 1 + below(300))
    switch (side.targets[name], below(4)) {
    case (nil, _):
      say("symlink \(name)")
      try FileSystem.symlink(target, at: side.path(name))
      side.targets[name] = target
    case (_?, 0):
      say("unlink \(name)")
      try FileSystem.unlink(side.path(name))
      side.targets[name] = nil
    case (let old?, 1):
      let to = names[below(4)]
      guard to != name else { return }
      say("rename \(name) to \(to)")
      try FileSystem.rename(side.path(name), to: side.path(to))
      side.targets[name] = nil
      side.targets[to] = old
    case (_?, _):
      say("point \(name) elsewhere")
      let other = side.path("\(side.letter).new")
      try FileSystem.symlink(target, at: other)
      try FileSystem.rename(other, to: side.path(name))
      side.targets[name] = target
    }
  }

  /// What one side's symbolic links are in a mount.
  func compareTargets(of owner: WorkSide, in side: WorkSide) throws {
    for (name, target) in owner.targets {
      guard try FileSystem.readlink(side.path(name)) == target else {
        throw wrong("\(name) points elsewhere")
      }
    }
  }

  /// The daemon dies, perhaps within a sync, and another one goes on.
  mutating func kill() throws {
    if below(2) == 0 { try saved(side) }
    let contents = side.open.map(\.content)
    if below(3) == 0 {
      let pause = below(80)
      say("sync, and kill after \(pause) ms")
      try side.mount.run(
        "(echo sync > .llvs/control) < /dev/null > /dev/null 2>&1 & sleep \(Double(pause) / 1000)")
    } else {
      say("kill")
    }
    try side.mount.kill()
    side.open = []
    try side.mount.mount()
    // What was written and not saved is there, and waits for somebody to save it.
    for content in contents {
      guard let name = side.names(of: content).first else { continue }
      try File(side.path(name), .readWrite).sync()
    }
    try check()
  }

  static func directory(of name: String) -> String? {
    name.firstIndex(of: "/").map { String(name[..<$0]) }
  }

  /// Some files are the other's from now on, who has seen them as they are.
  mutating func handOver() {
    for (side, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
      for name in side.files.keys.sorted() where below(6) == 0 {
        // The last ones stay, and a file goes with all its names.
        guard let content = side.files[name], side.files.count > 4 else { continue }
        let names = side.names(of: content)
        steps.append("\(side.letter): hands over \(names)")
        side.open.removeAll { $0.content === content }
        let copy = WorkSide.Content(content)
        for name in names {
          side.files[name] = nil
          other.files[name] = copy
          other.sent[name] = side.sent.removeValue(forKey: name)
        }
      }
    }
  }
}
