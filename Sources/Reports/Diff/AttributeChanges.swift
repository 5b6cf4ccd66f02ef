import Grammar
import LLVSCore
import TreeNames

/// Describes the differences of two files in attributes other than kind and mode.
enum AttributeChanges {
  /// Returns one line for each attribute.
  /// The mtime is mentioned only if nothing else differs: it always differs with the bytes.
  static func lines(_ old: FileImage?, _ new: FileImage?, isRenamed: Bool) -> [String] {
    var lines: [String] = []
    let before = dictionary(old)
    let after = dictionary(new)
    for name in Set(before.keys).union(after.keys).sorted(by: { $0.lexicographicallyPrecedes($1) })
    where before[name] != after[name] {
      lines.append("xattr \(text(name)): \(value(before[name])) -> \(value(after[name]))")
    }
    guard let old, let new, !old.isLive, !new.isLive else { return lines }
    if old.owner.uid != new.owner.uid || old.owner.gid != new.owner.gid {
      lines.append("owner: \(owner(old)) -> \(owner(new))")
    }
    if lines.isEmpty, !isRenamed, old.kind == new.kind, old.mode == new.mode,
      old.length == new.length,
      old.device == new.device, old.mtime != new.mtime,
      (try? old.hasSameBytes(as: new)) ?? false
    {
      let isClose = old.mtime?.seconds == new.mtime?.seconds
      lines.append("time: \(time(old.mtime, isClose)) -> \(time(new.mtime, isClose))")
    }
    return lines
  }

  private static func dictionary(_ image: FileImage?) -> [[UInt8]: [UInt8]] {
    Dictionary((image?.extended ?? []).map { ($0.name, $0.value) }) { $1 }
  }

  private static func text(_ bytes: [UInt8]) -> String { PrintableText.text(bytes) }

  private static func value(_ bytes: [UInt8]?) -> String {
    guard let bytes else { return "none" }
    let shown = "\"\(text(Array(bytes.prefix(64))))\""
    return bytes.count > 64 ? "\(shown)... (\(bytes.count) bytes)" : shown
  }

  private static func owner(_ image: FileImage) -> String {
    let (uid, gid) = image.owner
    return "\(uid.map { "\($0)" } ?? "yours"):\(gid.map { "\($0)" } ?? "yours")"
  }

  /// Formats a time, with nanoseconds if only they differ.
  private static func time(_ time: Attributes.Time?, _ isClose: Bool) -> String {
    time.map {
      TimestampText.local(seconds: $0.seconds) + (isClose ? " and \($0.nanoseconds) ns" : "")
    } ?? "none"
  }
}
