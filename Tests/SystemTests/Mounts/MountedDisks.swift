import TestSupport
import Testing

/// Why tests with disks of their own may be skipped.
let noLoop: Comment = "needs mkfs.ext4 and the right to mount a file as a disk"

extension MountedStore {
  /// Runs a body with a store on a disk of its own, mounted; all is taken away whatever happens.
  static func with(
    diskOf mebibytes: Int, blockSize: Int? = nil, settings: [String] = [],
    _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore()
    defer { mounted.tearDown() }
    let disk = try LoopDisk(
      at: mounted.store, image: mounted.directory + "/image", mebibytes: mebibytes,
      blockSize: blockSize)
    defer {
      // The daemon first: it has the disk's files open.
      try? mounted.kill()
      disk.remove()
    }
    try mounted.mount()
    for setting in settings { try mounted.run("echo 'set \(setting)' > .llvs/control") }
    try body(mounted)
  }
}
