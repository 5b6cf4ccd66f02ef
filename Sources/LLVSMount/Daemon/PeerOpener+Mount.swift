package import Control
import FuseSession
import Grammar
import LLVSCore
import ObjectStores
import Platform

extension PeerOpener {
  /// Opens peers as usual, but another store's mount point as that store, and no other directory in a mount of
  /// llvs, because sent files would change its tree. `own` is this store's mount point.
  package static func besideMounts(own: String?) -> PeerOpener {
    var opener = PeerOpener { (address, opening) throws(ControlError) in
      // Without a mount table or a directory, the usual opening reports the error.
      guard let path = address.directoryPath, let table = try? MountTable(),
        let status = try? FileSystem.status(path)
      else { return try standard.open(address, opening) }
      if let own, let mount = table.mount(at: Array(own.utf8)), mount.type == "fuse.llvs",
        status.deviceName == mount.device
      {
        throw ControlError(.grammar, "\(path) is in the mount of this store itself")
      }
      try checkMounted(path, table, opening)
      guard let mount = table.entries.last(where: { $0.device == status.deviceName }),
        mount.type == "fuse.llvs"
      else { return try standard.open(address, opening) }
      return try standard.open(try inside(mount, path, address), opening)
    }
    opener.noteNew = { address, store in
      guard let path = address.directoryPath, let table = try? MountTable(),
        let resolved = resolved(path, table), table.mount(at: resolved) != nil
      else { return }
      store.note(mountNote(path), [1])
    }
    return opener
  }

  /// Resolves links without a look into file systems of programs, which may wait for the caller; nil for a loop.
  private static func resolved(_ path: String, _ table: MountTable) -> [UInt8]? {
    var (done, links) = ([UInt8](), 0)
    var open = Array(path.utf8).split(separator: 0x2F)[...]
    while let name = open.popFirst() {
      if name.elementsEqual([0x2E]) { continue }
      if name.elementsEqual([0x2E, 0x2E]) {
        done = Array(done[..<(done.lastIndex(of: 0x2F) ?? 0)])
        continue
      }
      let next = done + [0x2F] + name
      if table.mount(at: next)?.isFuse == true { return open.reduce(next) { $0 + [0x2F] + $1 } }
      guard let target = try? FileSystem.readlink(next) else {
        done = next
        continue
      }
      links += 1
      guard links <= 40 else { return nil }
      if target.first == 0x2F { done = [] }
      open = target.split(separator: 0x2F) + open
    }
    return done
  }

  /// Throws for a mount point that is not mounted: the next mount would hide what is written there.
  private static func checkMounted(
    _ path: String, _ table: MountTable, _ opening: PeerOpening
  ) throws(ControlError) {
    let (note, resolved) = (mountNote(path), (try? FileSystem.resolve(path)) ?? path)
    let isMount = table.mount(at: Array(resolved.utf8)) != nil
    guard isMount != (opening.store.noted(note) == [1]) else { return }
    guard isMount else {
      throw ControlError(
        .unreachable,
        "\(path) is not mounted; if it is a directory of its own now: llvs peer \(opening.name) --reset"
      )
    }
    opening.store.note(note, [1])
  }

  private static func inside(
    _ mount: MountEntry, _ path: String, _ address: PeerAddress
  ) throws(ControlError) -> PeerAddress {
    let store = String(decoding: mount.source, as: UTF8.self)
    let point = String(decoding: mount.path, as: UTF8.self)
    guard case .remote(.directory(_, form: .any)) = address,
      let resolved = try? FileSystem.resolve(path), Array(resolved.utf8) == mount.path,
      mount.root == [0x2F]
    else {
      throw ControlError(
        .grammar,
        "\(path) is in the mount of another store, and would become a part of its tree; a peer is its mount "
          + "point \(point) itself, or a directory elsewhere")
    }
    // With -o fsname the source is any word; the lock file names the mount's device.
    guard store.hasPrefix("/"), let lock = try? FileSystem.read("\(store)/lock", atMost: 4096),
      Store.device(inLock: String(decoding: lock, as: UTF8.self)) == mount.device
    else {
      throw ControlError(
        .grammar, "\(path) is the mount of another store; write the path of the store instead")
    }
    return .remote(.directory(path: store, form: .any))
  }
}
