import Foundation
import LLVS
import TestSupport
import Testing

@testable import FileTree

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
    let file = directory + "/script-\(UUID().uuidString.prefix(8)).py"
    try Self.prelude.appending(script).write(toFile: file, atomically: true, encoding: .utf8)
    return try run(
      "python3 '\(file)' \(arguments)", seconds: seconds, sourceLocation: sourceLocation)
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


    """#

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

  /// All versions, by name.
  func all() throws -> [VersionRecord] {
    try store.versions(afterName: nil, limit: 1_000_000)
  }

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
