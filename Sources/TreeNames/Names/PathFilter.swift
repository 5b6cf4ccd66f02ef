/// Tells which paths a directory holds.
package enum PathFilter {
  /// Whether a path is another or lies below it; everything lies below the empty path, the root.
  package static func isAtOrBelow(_ path: [UInt8], _ above: [UInt8]) -> Bool {
    above.isEmpty || path == above
      || path.count > above.count && path[above.count] == 0x2F && path.starts(with: above)
  }
}
