import Glibc
import TestSupport
import Testing

@testable import Platform

@Suite("Watched files and held paths", .timeLimit(.minutes(1)))
struct WatchedFilesTests {
  @Test("what is watched with inotify is found, on its file system alone")
  func found() throws {
    let directory = try TemporaryDirectory()
    let status = try FileSystem.status(directory.path)
    let descriptor = inotify_init1(0)
    defer { close(descriptor) }
    let before = SystemProcess.watchedFiles(onDevice: status.deviceName)
    #expect(!before.inodes.contains(status.inode))
    #expect(inotify_add_watch(descriptor, directory.path, UInt32(IN_CREATE)) >= 0)
    let watched = SystemProcess.watchedFiles(onDevice: status.deviceName)
    #expect(watched.inodes.contains(status.inode))
    #expect(SystemProcess.watchedFiles(onDevice: "4000:1").inodes.isEmpty)
    #expect(SystemProcess.watchedFiles(onDevice: "none") == WatchedFiles())
  }

  @Test("lines of inotify and fanotify are read, and others are passed over")
  func lines() {
    var watched = WatchedFiles()
    let text = """
      pos:\t0
      flags:\t02000000
      inotify wd:2 ino:3e7 sdev:3c mask:fce ignored_mask:0 fhandle-bytes:c
      inotify wd:1 ino:1 sdev:800013 mask:fce ignored_mask:0
      fanotify flags:10 event-flags:0
      fanotify ino:4f969 sdev:3c mflags:0 mask:3b
      fanotify sdev:3d mflags:0 mask:3b
      inotify ino:zz sdev:3c
      """
    watched.add(Array(text.utf8), onDevice: 0x3c)
    #expect(watched.inodes == [0x3e7, 0x4f969])
    // A watch whose number cannot be read counts as one of everything.
    #expect(watched.isWhole)
    var other = WatchedFiles()
    other.add(Array(text.utf8), onDevice: 0x3d)
    #expect(other.inodes.isEmpty && other.isWhole)
    var mount = WatchedFiles()
    mount.add(Array("fanotify mnt_id:12 mflags:0 mask:3b".utf8), onDevice: 1)
    #expect(mount.isWhole)
  }

  @Test("below a held directory no symbolic link leads elsewhere")
  func held() throws {
    let directory = try TemporaryDirectory()
    let result = try shell(
      "mkdir -p top/d else; touch top/d/f else/g; ln -s ../else top/out; ln -s d top/in",
      in: directory.path)
    #expect(result.status == 0)
    let top = try HeldPath(directory: directory.file("top"))
    let inode = try top.below(Array("d/f".utf8)).status().inode
    #expect(try FileSystem.status(directory.file("top/d/f")).inode == inode)
    #expect(try top.below([]).status().inode == top.status().inode)
    for path in ["out/g", "in/f", "../else/g", "/etc/passwd"] {
      #expect(throws: SystemError.self) { _ = try top.below(Array(path.utf8)).status() }
    }
    // A symbolic link at the end is held itself.
    #expect(try top.below(Array("out".utf8)).status().kind == .symlink)
    try top.make(Array("new".utf8), mode: 0o040700)
    try top.remove(Array("new".utf8), isDirectory: true)
    #expect(throws: SystemError.self) { try top.remove(Array("new".utf8), isDirectory: true) }
  }
}
