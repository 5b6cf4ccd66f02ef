import Inodes
import LLVSCore

extension Following {
  /// The bytes of a name that stay before an added number, because a name has at most 255.
  private static let longestBeginning = 230

  /// Moves a directory to where the head has it if a program moved it into one that the head has below it:
  /// otherwise neither would have a path, and their content would be removed.
  mutating func breakCycles() throws(StoreError) {
    for number in numbers {
      guard let node = overlay.nodes[number], node.isDirectory, let place = node.place,
        overlay.changes[place]?.inode == number, let recorded = try base.names(of: number).first,
        try isBelowItself(number)
      else { continue }
      guard scope == nil else {
        scope = nil
        return try breakCycles()
      }
      overlay.setChange(nil, at: place)
      let other = overlay.changes[recorded]
      if let file = other?.inode, other?.isDirectory == false,
        try !base.names(of: file).contains(where: { overlay.changes[$0] == nil })
      {
        try put(number, beside: recorded)
        continue
      }
      overlay.setChange(nil, at: recorded)
      overlay.nodes[number]?.names = [recorded]
      // A directory made at the name since is the same directory.
      guard let other, other.isDirectory, let made = other.inode else { continue }
      overlay.nodes[made]?.names = []
      var busy: Set<InodeNumber> = []
      try join(made, into: number, at: recorded, &busy)
    }
  }

  private func isBelowItself(_ start: InodeNumber) throws(StoreError) -> Bool {
    var (number, depth) = (start, 0)
    while number != .root, depth <= 4096, let place = try place(of: number) {
      number = place.directory
      if number == start { return true }
      depth += 1
    }
    return false
  }

  /// Gives a directory a free name next to its own, which a file has now.
  private mutating func put(_ directory: InodeNumber, beside taken: InodeName) throws(StoreError) {
    var place = taken
    var count = 0
    repeat {
      count += 1
      place.name = FileName(
        taken.name.bytes.prefix(Self.longestBeginning) + Array("~\(count)".utf8))
    } while try overlay.inode(at: place, over: base) != nil
    var change = NameChange(inode: directory, stamp: overlay.stamp, hidesRecorded: false)
    change.isDirectory = true
    overlay.setChange(change, at: place)
    overlay.nodes[directory]?.names = [place]
  }
}
