import FuseSession
import Grammar
import TreeNames

/// A view of a tree: its mount, or a directory of it bind-mounted elsewhere.
struct MountView: Hashable, Sendable {
  let root: String
  /// The path in the tree of the shown directory; empty for the root.
  let part: [UInt8]

  init(_ mount: MountEntry) {
    root = String(decoding: mount.path, as: UTF8.self)
    part = Array(mount.root.drop { $0 == 0x2F })
  }

  var isPart: Bool { !part.isEmpty }

  /// Returns a path of the tree relative to the mount point; nil if the view does not show it.
  func below(_ path: [UInt8]) -> [UInt8]? {
    guard isPart else { return path }
    guard path.starts(with: part) else { return nil }
    let rest = path.dropFirst(part.count)
    guard let first = rest.first else { return [] }
    return first == 0x2F ? Array(rest.dropFirst()) : nil
  }

  func place(_ path: [UInt8]) throws(ControlError) -> [UInt8] {
    guard let below = below(path) else {
      throw ControlError(.notFound, "\(PrintableText.text(path)) is not to be seen in \(root)")
    }
    return Array("\(root)/".utf8) + below
  }
}
