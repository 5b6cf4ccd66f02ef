import Inodes
import LLVSCore
import TreeNames

extension Following {
  /// A cut gave displaced files back their own names because a directory moved away. A file stays at the visible
  /// name if programs made something at its own name, which would overwrite the file.
  mutating func keepDisplaced() throws(StoreError) {
    guard let taken = head.taken, head.epoch != nil else { return }
    for place in places {
      // The head has the change itself, its base, or another machine's entry.
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
  ) throws(StoreError) {
    guard let directory = overlay.path(of: place.directory) else { return }
    let key = KeyCoding.key(ofPath: directory.appending(place.name).bytes)
    var shown = place
    var count = 0
    repeat {
      shown.name = FileName(DisplacedName.candidate(count, for: key))
      if case .pending(nil) = overlay.shown(at: shown) { return }
      count += 1
    } while try overlay.inode(at: shown, over: base) != nil
    var known = overlay.nodes[number]
    if known == nil { known = try overlay.node(of: number, over: base) }
    // Pending changes keep it, and so does another name.
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
