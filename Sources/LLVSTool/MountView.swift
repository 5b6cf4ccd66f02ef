import FuseSession
import Grammar
import Platform
import TreeNames

/// Where a tree is seen: a mount, or a directory of it that is mounted elsewhere too, with `mount --bind` or
/// into a container, where nothing above it can be reached.
struct MountView: Hashable, Sendable {
  /// Where it is mounted.
  let root: String
  /// The path in the tree of the directory that is shown; empty for all of it.
  let part: [UInt8]

  init(_ mount: MountEntry) {
    root = String(decoding: mount.path, as: UTF8.self)
    part = Array(mount.root.drop { $0 == 0x2F })
  }

  /// Whether only a directory of the tree is seen.
  var isPart: Bool { !part.isEmpty }

  /// The path below the root at which a path of the tree is seen; nil for one that is not.
  func below(_ path: [UInt8]) -> [UInt8]? {
    guard isPart else { return path }
    guard path.starts(with: part) else { return nil }
    let rest = path.dropFirst(part.count)
    guard let first = rest.first else { return [] }
    return first == 0x2F ? Array(rest.dropFirst()) : nil
  }

  /// Where a path of the tree is seen.
  ///
  /// - Throws: ``ControlError`` of kind notFound for one that is not.
  func place(_ path: [UInt8]) throws(ControlError) -> [UInt8] {
    guard let below = below(path) else {
      throw ControlError(.notFound, "\(PrintableText.text(path)) is not to be seen in \(root)")
    }
    return Array("\(root)/".utf8) + below
  }
}
