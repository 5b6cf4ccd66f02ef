import LLVSCore

/// One of those who share versions through folders.
protocol FolderMember: AnyObject {
  /// Changes values of the version it is at; nil removes.
  func author(_ values: [String: String?], settling: [String], _ play: FleetPlay) throws

  /// Merges what it has; returns how many versions that took.
  func merge(_ play: FleetPlay) throws -> Int

  func retrieve(from folder: String) throws
  func send(to folder: String) throws

  /// The heads that it would merge or is at, ascending.
  func heads() throws -> [String]

  /// What the version that it is at holds.
  func tree() throws -> [String: String]

  /// Its versions, each with its predecessors.
  func history() throws -> [String: [String]]
}

extension FolderMember {
  /// Makes a version of one to three random changes.
  func edit(_ play: FleetPlay, keys: [String] = ["a", "b", "d/a", "d/b", "z"]) throws {
    let held = try tree()
    var values: [String: String?] = [:]
    for _ in 0..<play.pick(1..<4) {
      let key = keys[play.pick(0..<keys.count)]
      if play.chance(1, in: 4), held[key] != nil {
        values[key] = .some(nil)
      } else {
        values[key] = play.text()
      }
    }
    try author(values, settling: [], play)
  }

  /// Gives a value another name.
  func rename(_ play: FleetPlay, keys: [String]) throws {
    let held = try tree().sorted { $0.key < $1.key }
    let free = keys.filter { key in !held.contains { $0.key == key } }
    guard !held.isEmpty, !free.isEmpty else { return }
    let (old, text) = held[play.pick(0..<held.count)]
    try author([old: nil, free[play.pick(0..<free.count)]: text], settling: [], play)
  }
}
