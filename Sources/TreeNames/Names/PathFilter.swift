package enum PathFilter {
  /// True if `path` is `above` or below it; the root is the empty path.
  package static func isAtOrBelow(_ path: [UInt8], _ above: [UInt8]) -> Bool {
    above.isEmpty || path == above
      || path.count > above.count && path[above.count] == 0x2F && path.starts(with: above)
  }
}
