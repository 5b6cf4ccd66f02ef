import Foundation

/// A small ext4 of its own in a file, for what only a real disk shows.
package struct LoopDisk {
  private struct Failure: Error, CustomStringConvertible { var description: String }

  private let image: String
  package let path: String

  /// Makes a disk of so many MiB, with blocks of so many bytes, and mounts it at a path.
  package init(at path: String, image: String, mebibytes: Int, blockSize: Int? = nil) throws {
    self.path = path
    self.image = image
    let blocks = blockSize.map { "-b \($0)" } ?? ""
    let made = try shell(
      """
      set -e; export PATH=$PATH:/usr/sbin:/sbin
      truncate -s \(mebibytes)M '\(image)'; mkfs.ext4 -q -F -m 0 \(blocks) '\(image)'; mkdir -p '\(path)'
      mount -o loop '\(image)' '\(path)'
      """)
    guard made.status == 0 else { throw Failure(description: made.output) }
  }

  /// Cuts the power and mounts the disk again: whatever the kernel had not written to it is lost.
  package func cutPower() throws {
    // A copy is of one instant if nothing changed until it was compared.
    let made = try shell(
      """
      set -e
      until cp --sparse=always '\(image)' '\(image).cut' && cmp -s '\(image)' '\(image).cut'; do :; done
      umount -l '\(path)'; mv '\(image).cut' '\(image)'; mount -o loop '\(image)' '\(path)'
      """)
    guard made.status == 0 else { throw Failure(description: made.output) }
  }

  /// Takes the disk away; its image goes with its directory.
  package func remove() { _ = try? shell("umount -l '\(path)'") }

  /// True if this process may mount a file as a disk.
  package static let isPossible: Bool = {
    let directory = "/tmp/llvs-loop-\(UUID().uuidString.prefix(8))"
    defer { _ = try? shell("rm -rf --one-file-system '\(directory)'") }
    guard (try? shell("mkdir '\(directory)'").status) == 0,
      let disk = try? LoopDisk(
        at: directory + "/disk", image: directory + "/image", mebibytes: 8)
    else { return false }
    disk.remove()
    return true
  }()
}
