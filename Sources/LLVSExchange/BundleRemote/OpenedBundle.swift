import LLVSCore
import ObjectStores
internal import Platform

/// A bundle of either version, opened for reading.
enum OpenedBundle: Sendable {
  case first(BundleReader)
  case second(Bundle2Reader)

  /// The bundle's name.
  var name: BundleName {
    switch self {
    case .first(let bundle): bundle.name
    case .second(let bundle): bundle.name
    }
  }

  /// Opens a bundle; one of version 1 is copied into a file without a name first.
  ///
  /// - Throws: as ``Bundle2Reader``.
  init(
    _ name: BundleName, _ bytes: RemoteBytes, _ objects: any ObjectStore, _ frames: FrameCache,
    keys: (any BundleKeys)?, scratch: String, _ control: ExchangeControl
  ) throws(StoreError) {
    let end = UInt64(BundleFormat.tailMagic.count)
    guard name.length > Bundle2Format.headLength + end else {
      throw .invalid("\(name.object): it is too short for a bundle")
    }
    guard try bytes.read((name.length - end)..<name.length) == BundleFormat.tailMagic else {
      self = .second(try Bundle2Reader(name, bytes, cache: frames, keys: keys))
      return
    }
    guard keys == nil else {
      throw .invalid("\(name.object): it is not encrypted, and everything at this peer has to be")
    }
    let file = try OpenedBundle.copy(name, objects, scratch, control)
    let first = try BundleReader.open(name, cache: BundleCache(), check: control.check) {
      (offset, count) throws(StoreError) in
      do throws(SystemError) {
        return try file.read(count, at: offset)
      } catch {
        throw .system(error)
      }
    }
    guard let first else { throw .invalid("\(name.object): it is not whole") }
    self = .first(first)
  }

  private static func copy(
    _ name: BundleName, _ objects: any ObjectStore, _ scratch: String, _ control: ExchangeControl
  ) throws(StoreError) -> File {
    let file: File
    do throws(SystemError) {
      let path = "\(scratch)/incoming-\(SystemRandom.hex(8))"
      file = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
      try FileSystem.unlink(path)
    } catch {
      throw .system(error)
    }
    var offset: UInt64 = 0
    do throws(RemoteError) {
      try objects.get(name.object, range: nil) { (piece) throws(RemoteError) in
        // An object longer than its name says is not read to its end.
        guard offset <= name.length else { return false }
        do throws(SystemError) {
          try file.write(piece, at: offset)
        } catch {
          throw RemoteError(error)
        }
        offset += UInt64(piece.count)
        return true
      }
    } catch {
      if error.kind == .absent { throw .notFound("\(name.object)") }
      throw StoreError(error)
    }
    try control.check()
    return file
  }
}
