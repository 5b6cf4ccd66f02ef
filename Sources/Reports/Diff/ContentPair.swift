package import LLVSCore

/// The bytes of both sides of a difference, prepared for a comparison by line.
package enum ContentPair {
  /// The bytes are equal: only attributes or names differ.
  case same
  case texts(TextLines, TextLines)
  /// One side is no text, or longer than ``TextMerge/maximumLength``.
  case binary

  /// Reads at most 8 MiB of each side.
  package init(_ old: FileImage?, _ new: FileImage?) throws {
    if let old, let new, try old.hasSameBytes(as: new) {
      self = .same
      return
    }
    let bound = UInt64(TextMerge.maximumLength)
    func bytes(_ image: FileImage?) throws -> [UInt8]? {
      guard let image else { return [] }
      guard image.hasBytes, let bytes = try image.bytes(atMost: bound) else { return nil }
      return image.kind == .symlink || TextMerge.isText(bytes) ? bytes : nil
    }
    guard let a = try bytes(old), let b = try bytes(new) else {
      self = .binary
      return
    }
    var table = LineTable()
    self = .texts(table.lines(a), table.lines(b))
  }

  package var counts: LineCounts {
    switch self {
    case .same: return .lines(added: 0, removed: 0)
    case .binary: return .binary
    case .texts(let old, let new):
      var (added, removed) = (0, 0)
      for change in TextDiff.changes(from: old, to: new) {
        added += change.new.count
        removed += change.old.count
      }
      return .lines(added: added, removed: removed)
    }
  }
}
