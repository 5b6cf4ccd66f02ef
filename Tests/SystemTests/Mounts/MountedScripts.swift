import Foundation
import LLVSCore
import TestSupport
import Testing

@testable import TreeNames

// What the tests of this target share: scripts that must succeed, and versions read beside the mount.

/// Why tests of this target may be skipped.
let noDevice: Comment = "needs /dev/fuse and the right to mount"

/// How much longer a heavy test runs, from the environment: `LLVS_TEST_LOAD=5`.
let load = Int(ProcessInfo.processInfo.environment["LLVS_TEST_LOAD"] ?? "") ?? 1

/// The tests that mount a store with the program itself and drive it with other programs.
@Suite(.enabled(if: MountedStore.isPossible, noDevice)) enum Mounted {}

extension MountedStore {
  /// Runs a bash script in the mount that stops at the first failure and must succeed.
  @discardableResult
  func run(
    _ script: String, seconds: Int = 60, environment: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let result = try shell(
      "set -eo pipefail\n" + script, seconds: seconds, environment: environment)
    try #require(
      result.status == 0, "\(result.status): \(result.output)\(daemonLog)",
      sourceLocation: sourceLocation)
    return result.output
  }

  /// Runs a Python script in the mount that must succeed, after ``prelude``.
  @discardableResult
  func python(
    _ script: String, seconds: Int = 60, arguments: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    return try run(
      "python3 '\(try save(script))' \(arguments)", seconds: seconds,
      sourceLocation: sourceLocation)
  }

  /// Starts a Python script in the background; what it says is dropped.
  func launchPython(_ script: String, arguments: String = "") throws {
    try run("python3 '\(try save(script))' \(arguments) > /dev/null 2>&1 &")
  }

  private func save(_ script: String) throws -> String {
    let file = directory + "/script-\(UUID().uuidString.prefix(8)).py"
    try savePython(script, to: file)
    return file
  }

  /// Writes a Python script with what all of them may use to a file.
  func savePython(_ script: String, to file: String) throws {
    try Self.prelude.appending(script).write(toFile: file, atomically: true, encoding: .utf8)
  }

  /// What Python scripts may use.
  private static let prelude = #"""
    import ctypes, errno, fcntl, mmap, os, random, signal, stat, struct, subprocess, sys, time
    libc = ctypes.CDLL(None, use_errno=True)

    def raises(code, call, *args, **named):
        try:
            call(*args, **named)
        except OSError as error:
            assert error.errno == code, '%s%r: %s instead of %s' % (
                call.__name__, args, errno.errorcode.get(error.errno), errno.errorcode[code])
        else:
            raise AssertionError('%s%r succeeded' % (call.__name__, args))

    def renameat2(old, new, flags):
        if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def fallocate(fd, mode, offset, length):
        if libc.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def put(path, text, mode='wb'):
        with open(path, mode) as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def get(path):
        with open(path, 'rb') as file:
            return file.read()

    def same(found, wanted):
        assert found == wanted, '%r instead of %r' % (found, wanted)

    def refused(f, d, l):
        # A file, its directory with a directory `e`, and a link, that nobody may change.
        calls = [
            (os.open, f, os.O_WRONLY), (os.open, f, os.O_RDWR), (os.open, f, os.O_RDONLY | os.O_TRUNC),
            (os.open, d + '/new', os.O_CREAT | os.O_WRONLY), (os.truncate, f, 0), (os.unlink, f), (os.unlink, l),
            (os.rmdir, d + '/e'), (os.mkdir, d + '/new'), (os.symlink, 't', d + '/new'), (os.mkfifo, d + '/new'),
            (os.chmod, f, 0o600), (os.chmod, d, 0o700), (os.chown, f, 1, 1), (os.lchown, l, 1, 1), (os.utime, f, (1, 2)),
            (os.setxattr, f, 'user.b', b'1'), (os.removexattr, f, 'user.a'), (os.rename, f, d + '/g'),
        ]
        for call, *args in calls: raises(errno.EROFS, call, *args)


    """#

  /// Makes a version of what ``refused`` in scripts tries to change, and a file of the live tree.
  func commitSample() throws {
    try run(
      "mkdir -p d/e; echo text > d/f; ln -s f d/l; setfattr -n user.a -v 1 d/f; echo commit > .llvs/control; echo x > own"
    )
  }

  /// Makes a version of everything saved.
  func commit(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try run("echo commit > .llvs/control", sourceLocation: sourceLocation)
  }
}

/// A store read beside the program that has it mounted.
struct StoredVersions {
  let store: Store

  init(_ mounted: MountedStore) throws {
    store = try Store.open(path: mounted.store, mode: .reader)
  }

  /// All versions, as they were made.
  func all() throws -> [VersionRecord] {
    try store.versions(afterName: nil, limit: 1_000_000).sorted { $0.number < $1.number }
  }

  /// The newest version.
  func newest() throws -> VersionRecord { try #require(try all().last) }

  /// The bytes of a file in a version; nil where there is none.
  func bytes(_ path: String, in version: VersionRecord) throws -> [UInt8]? {
    guard
      case .value(let entry)? = try TreeView(map: store.map(version.map)).find(
        path: Array(path.utf8))
    else { return nil }
    return try store.contents.bytes(entry.stored)
  }

  func text(_ path: String, in version: VersionRecord) throws -> String? {
    try bytes(path, in: version).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The paths of all entries of a version, directories included.
  func paths(in version: VersionRecord) throws -> [String] {
    var walk = TreeView(map: store.map(version.map)).entries(below: [])
    var paths: [String] = []
    while let next = try walk.next() {
      paths.append(String(decoding: next.relative, as: UTF8.self))
    }
    return paths.sorted()
  }
}

extension MountedStore {
  /// Runs a body with a fresh store that is mounted with settings it had before, and unmounts cleanly.
  static func with(
    stored settings: [String: String], _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore()
    defer { mounted.tearDown() }
    do {
      let store = try Store.open(path: mounted.store, mode: .writer, create: true)
      try store.write { (transaction) throws(StoreError) in
        for (name, value) in settings { transaction.set(name, to: Array(value.utf8)) }
      }
    }
    try mounted.mount()
    try body(mounted)
    try mounted.unmount()
  }

  /// How many versions the store has.
  func versionCount() throws -> Int { try StoredVersions(self).all().count }

  /// Waits until nothing is pending: the newest version is of what is saved now.
  func waitForVersion(
    after count: Int, seconds: Double = 15, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let isMade = eventually(seconds: seconds) { ((try? versionCount()) ?? 0) > count }
    try #require(isMade, "no version was made: \(daemonLog)", sourceLocation: sourceLocation)
  }

  /// Checks everything in the store with the program.
  func verify(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let result = try TestSupport.shell(
      "'\(Self.program)' verify --store '\(store)'", seconds: 120)
    #expect(result.status == 0, "\(result.output)", sourceLocation: sourceLocation)
  }
}
