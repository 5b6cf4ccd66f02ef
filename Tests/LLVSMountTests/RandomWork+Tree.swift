import Platform
import TestSupport

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
