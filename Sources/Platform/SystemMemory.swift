internal import CShims

package enum SystemMemory {
  /// Returns unused pages to the system.
  /// - Complexity: O(memory); a thread that allocates in the meantime may wait for milliseconds.
  package static func trim() { _ = malloc_trim(0) }
}
