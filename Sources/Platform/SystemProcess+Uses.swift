internal import CShims
internal import Glibc

/// A use of a file system by a process, which keeps the file system from being unmounted.
package struct FileSystemUse: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case opened, mapped
    /// Its working directory, or its root directory.
    case directory
  }

  package var kind: Kind
  /// The file or directory in use, by the kernel's name for it.
  package var path: [UInt8]
  package var process: Int32
  /// The process's name, as ps(1) shows it.
  package var program: String
}

extension SystemProcess {
  /// Returns the uses of file systems (`major:minor`) by all processes that this one may see, except `spared`. It
  /// calls no file system, so none can block it.
  /// - Complexity: two system calls for each open file of the machine.
  package static func uses(
    ofDevices devices: Set<String>, besides spared: Set<Int32>
  ) -> [FileSystemUse] {
    var uses: [FileSystemUse] = []
    for name in (try? FileSystem.list("/proc")) ?? [] {
      guard let process = Int32(name), !spared.contains(process) else { continue }
      var found: [(FileSystemUse.Kind, [UInt8])] = []
      func look(_ kind: FileSystemUse.Kind, _ place: String) {
        var (device, inode): (UInt64, UInt64) = (0, 0)
        guard unsafe llvs_cached_identity(place, &device, &inode) == 0,
          devices.contains(FileStatus.name(ofDevice: device))
        else { return }
        let path = (try? FileSystem.readlink(Array(place.utf8))) ?? []
        if !found.contains(where: { $0.1 == path }) { found.append((kind, path)) }
      }
      look(.directory, "/proc/\(name)/cwd")
      look(.directory, "/proc/\(name)/root")
      for descriptor in (try? FileSystem.list("/proc/\(name)/fd")) ?? [] {
        look(.opened, "/proc/\(name)/fd/\(descriptor)")
      }
      for path in mapped("/proc/\(name)/maps", devices)
      where !found.contains(where: { $0.1 == path }) {
        found.append((.mapped, path))
      }
      guard !found.isEmpty else { continue }
      let said = (try? FileSystem.read("/proc/\(name)/comm", atMost: 64)) ?? []
      let program = String(decoding: said.prefix { $0 != 0x0A }, as: UTF8.self)
      uses += found.map {
        FileSystemUse(kind: $0.0, path: $0.1, process: process, program: program)
      }
    }
    return uses
  }

  // proc_pid_maps(5): range, rights, offset, device, inode, path; the device in hexadecimal digits.
  private static func mapped(_ place: String, _ devices: Set<String>) -> [[UInt8]] {
    let text = (try? FileSystem.read(place, atMost: 16 << 20)) ?? []
    var paths: [[UInt8]] = []
    for line in text.split(separator: 0x0A) {
      let words = line.split(separator: 0x20, maxSplits: 5, omittingEmptySubsequences: true)
      guard words.count == 6 else { continue }
      let numbers = String(decoding: words[3], as: UTF8.self).split(separator: ":")
        .compactMap { UInt32($0, radix: 16) }
      guard numbers.count == 2, devices.contains("\(numbers[0]):\(numbers[1])") else { continue }
      let path = Array(words[5].drop { $0 == 0x20 })
      if paths.last != path { paths.append(path) }
    }
    return paths
  }

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
