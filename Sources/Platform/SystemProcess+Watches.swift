internal import Glibc

/// The files of a file system that programs watch with inotify(7) or fanotify(7).
package struct WatchedFiles: Hashable, Sendable {
  /// The inode numbers of files and directories that are watched themselves.
  package var inodes: Set<UInt64> = []
  /// True if a program watches all of the file system.
  package var isWhole = false

  package init() {}

  /// Adds the lines of a file in /proc/PID/fdinfo (proc_pid_fdinfo(5)) with a file system's number.
  mutating func add(_ lines: [UInt8], onDevice device: UInt64) {
    for line in lines.split(separator: 0x0A) {
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      guard let kind = words.first, kind == "inotify" || kind == "fanotify" else { continue }
      var fields: [Substring: UInt64] = [:]
      for word in words.dropFirst() {
        guard let colon = word.firstIndex(of: ":") else { continue }
        fields[word[..<colon]] = UInt64(word[word.index(after: colon)...], radix: 16)
      }
      if kind == "fanotify", fields["mnt_id"] != nil { isWhole = true }
      guard fields["sdev"] == device else { continue }
      if let inode = fields["ino"] { inodes.insert(inode) } else { isWhole = true }
    }
  }
}

extension SystemProcess {
  /// Returns the files on a file system that other processes watch, if this one may see them. It calls no file
  /// system.
  /// - Complexity: a system call for each open file of the machine, and a line for each watch.
  package static func watchedFiles(onDevice name: String) -> WatchedFiles {
    var watched = WatchedFiles()
    let parts = name.split(separator: ":").compactMap { UInt64($0) }
    guard parts.count == 2 else { return watched }
    // The kernel's own form of a device number: 20 bits of the minor number (MKDEV).
    let device = parts[0] << 20 | parts[1]
    for process in (try? FileSystem.list("/proc")) ?? [] where process.utf8.first ?? 0 <= 0x39 {
      for descriptor in (try? FileSystem.list("/proc/\(process)/fd")) ?? [] {
        guard let target = try? FileSystem.readlink("/proc/\(process)/fd/\(descriptor)"),
          target == "anon_inode:inotify" || target == "anon_inode:[fanotify]"
        else { continue }
        let lines = try? FileSystem.read("/proc/\(process)/fdinfo/\(descriptor)", atMost: 64 << 20)
        watched.add(lines ?? [], onDevice: device)
      }
    }
    return watched
  }
}
