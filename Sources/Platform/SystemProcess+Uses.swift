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

  /// Returns true if a thread is the first of its process; it then has the process's id.
  package static func isFirstThread(_ thread: Int32) -> Bool {
    // tgkill(2) finds a thread only in the given group; signal 0 checks and sends nothing.
    thread > 0 && llvs_has_thread(thread, thread) != 0
  }

  /// Returns the process of a thread; nil if the thread does not exist.
  package static func group(ofThread thread: Int32) -> Int32? {
    guard thread > 0 else { return nil }
    guard let text = try? FileSystem.read("/proc/\(thread)/status", atMost: 65_536) else {
      return nil
    }
    for line in text.split(separator: UInt8(ascii: "\n")) {
      guard line.starts(with: "Tgid:".utf8) else { continue }
      let digits = line.dropFirst(5).filter { $0 >= 0x30 && $0 <= 0x39 }
      return Int32(String(decoding: digits, as: UTF8.self))
    }
    return nil
  }

  /// Returns the start of a process by ``SystemClock/boottime()``, at most 10 ms too early; nil if it has ended.
  package static func start(of process: Int32) -> UInt64? {
    guard let text = try? FileSystem.read("/proc/\(process)/stat", atMost: 8192),
      let end = text.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    // proc(5): the name is in parentheses and may hold any bytes; the start is field 22.
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 19, let ticks = UInt64(String(decoding: fields[19], as: UTF8.self)) else {
      return nil
    }
    let rate = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (nanoseconds, overflows) = ticks.multipliedReportingOverflow(by: 1_000_000_000 / rate)
    return overflows ? nil : nanoseconds
  }

  /// The signals that ask a process to stop waiting: from a terminal, a timer, or kill(1).
  private static let endings = [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGALRM, SIGTERM]

  /// Returns true if a thread has a pending, unblocked signal that asks it to end; nil if this is unknown. The
  /// source is `/proc/THREAD/status` (proc(5): SigPnd, ShdPnd, SigBlk).
  package static func isAskedToEnd(thread: Int32) -> Bool? {
    guard thread > 0, let text = try? FileSystem.read("/proc/\(thread)/status", atMost: 16_384)
    else { return nil }
    return isAskedToEnd(status: text)
  }

  static func isAskedToEnd(status: [UInt8]) -> Bool? {
    var masks: [String: UInt64] = [:]
    for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count == 2, let mask = UInt64(words[1], radix: 16) else { continue }
      masks[String(words[0])] = mask
    }
    guard let own = masks["SigPnd:"], let shared = masks["ShdPnd:"] else { return nil }
    let pending = (own | shared) & ~(masks["SigBlk:"] ?? 0)
    return endings.contains { pending >> UInt64($0 - 1) & 1 == 1 }
  }

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
