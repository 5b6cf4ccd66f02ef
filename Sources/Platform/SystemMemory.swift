internal import CShims

/// The process's memory.
package enum SystemMemory {
  /// Gives pages that nothing stands in any more back to the system.
  ///
  /// - Complexity: O(memory); who allocates meanwhile may wait for milliseconds.
  package static func trim() { _ = malloc_trim(0) }

  /// The bytes that an object takes, without what it refers to.
  package static func size(of object: AnyObject) -> Int {
    unsafe malloc_usable_size(Unmanaged.passUnretained(object).toOpaque())
  }
}
