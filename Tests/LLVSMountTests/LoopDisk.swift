import Foundation
import TestSupport
import Testing

/// A small ext4 of its own in a file, for what only a real disk shows.
struct LoopDisk {
  struct Failure: Error, CustomStringConvertible { var description: String }

  let image: String
  let path: String

  /// Makes a disk of so many MiB, with blocks of so many bytes, and mounts it at a path.
  init(at path: String, image: String, mebibytes: Int, blockSize: Int? = nil) throws {
    self.path = path
    self.image = image
    let blocks = blockSize.map { "-b \($0)" } ?? ""
    let made = try TestSupport.shell(
      """
      set -e; export PATH=$PATH:/usr/sbin:/sbin
      truncate -s \(mebibytes)M '\(image)'; mkfs.ext4 -q -F -m 0 \(blocks) '\(image)'; mkdir -p '\(path)'
      mount -o loop '\(image)' '\(path)'
      """)
    guard made.status == 0 else { throw Failure(description: made.output) }
  }

  /// Takes the disk away; its image goes with its directory.
  func remove() { _ = try? TestSupport.shell("umount -l '\(path)'") }

  /// True if this process may mount a file as a disk.
  static let isPossible: Bool = {
    let directory = "/tmp/llvs-loop-\(UUID().uuidString.prefix(8))"
    defer { _ = try? TestSupport.shell("rm -rf --one-file-system '\(directory)'") }
    guard (try? TestSupport.shell("mkdir '\(directory)'").status) == 0,
      let disk = try? LoopDisk(
        at: directory + "/disk", image: directory + "/image", mebibytes: 8)
    else { return false }
    disk.remove()
    return true
  }()
}

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
