internal import CShims
internal import Glibc

extension SystemProcess {
  /// Returns the inode numbers of the directories on a file system that are the working directory or root of a
  /// thread, if this process may see it. It calls no file system, so none can block it.
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
