internal import CShims
internal import Glibc

extension SystemProcess {
  /// Numbers of the directories of a file system in which processes work or which are their root, of all
  /// threads that may be looked at.
  ///
  /// No file system is asked anything, so one that does not answer is no obstacle.
  ///
  /// - Complexity: two system calls a thread of the machine.
  package static func workingDirectories(onDeviceOf path: String) -> Set<UInt64> {
    var device: UInt64 = 0
    var inode: UInt64 = 0
    guard unsafe llvs_cached_identity(path, &device, &inode) == 0 else { return [] }
    var found: Set<UInt64> = []
    for process in (try? FileSystem.list("/proc")) ?? [] where process.utf8.first ?? 0 <= 0x39 {
      for thread in (try? FileSystem.list("/proc/\(process)/task")) ?? [] {
        for kind in ["cwd", "root"] {
          var other: UInt64 = 0
          let place = "/proc/\(process)/task/\(thread)/\(kind)"
          if unsafe llvs_cached_identity(place, &other, &inode) == 0, other == device {
            found.insert(inode)
          }
        }
      }
    }
    return found
  }
}
