import Inodes
import LLVSCore
import TreeNames

// Displaced files that a cut brought to their own names: a directory moved away from there.

extension Following {
  /// Lets a displaced file keep the name by which programs see it where they made something at its own, which the
  /// directory that had it left: elsewhere what they made would overwrite it.
  mutating func keepDisplaced() throws(BaseError) {
    guard let taken = head.taken, head.epoch != nil else { return }
    for place in places {
      // What the head has there is the change itself, what it was made over, or another machine's.
      guard let change = overlay.changes[place], let own = change.inode, !change.isHeld,
        !(taken.names[place]?.isThere ?? false),
        !change.hidesRecorded || change.hidesDirectory, !behind.contains(place),
        let there = try base.child(of: place.directory, named: place.name)?.inode,
        there.number != own, !there.record.isDirectory
      else { continue }
      try keep(there.number, displacedFrom: place)
    }
  }

  private mutating func keep(
    _ number: InodeNumber, displacedFrom place: InodeName
  ) throws(BaseError) {
    guard let directory = overlay.path(of: place.directory) else { return }
    let key = KeyCoding.key(ofPath: directory.appending(place.name).bytes)
    var shown = place
    var count = 0
    repeat {
      shown.name = FileName(DisplacedName.candidate(count, for: key))
      // A program removed it.
      if case .pending(nil) = overlay.shown(at: shown) { return }
      count += 1
    } while try overlay.inode(at: shown, over: base) != nil
    var known = overlay.nodes[number]
    if known == nil { known = try overlay.node(of: number, over: base) }
    // What is pending of it keeps it, and so does another name that a program gave it.
    guard var node = known, node.orphan == nil, !node.isPending,
      node.names.allSatisfy({ overlay.changes[$0] == nil })
    else { return }
    node.names = [shown]
    overlay.nodes[number] = node
    scope?.insert(number, at: shown)
    overlay.setChange(
      NameChange(inode: number, stamp: overlay.stamp, hidesRecorded: false), at: shown)
  }
}
