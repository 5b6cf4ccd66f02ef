package enum PathFilter {
  /// True if `path` is `above` or below it; the root is the empty path.
  package static func isAtOrBelow(_ path: [UInt8], _ above: [UInt8]) -> Bool {
    above.isEmpty || path == above
      || path.count > above.count && path[above.count] == 0x2F && path.starts(with: above)
  }

  /// An order of paths in which those below a path follow it at once.
  package static func precedes(_ path: [UInt8], _ other: [UInt8]) -> Bool {
    path.lexicographicallyPrecedes(other) { ($0 == 0x2F ? 0 : $0) < ($1 == 0x2F ? 0 : $1) }
  }
}
