/// Tests whether a path is below a directory.
package enum PathFilter {
  /// True if `path` is `above` or lies below it; everything lies below the empty path, the root.
  package static func isAtOrBelow(_ path: [UInt8], _ above: [UInt8]) -> Bool {
    above.isEmpty || path == above
      || path.count > above.count && path[above.count] == 0x2F && path.starts(with: above)
  }
}
