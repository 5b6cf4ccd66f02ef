internal import CShims

package enum SystemMemory {
  /// Returns unused pages to the system.
  /// - Complexity: O(memory); a thread that allocates in the meantime may wait for milliseconds.
  package static func trim() { _ = malloc_trim(0) }

  /// Returns the number of bytes allocated for an object, without the objects that it refers to.
  package static func size(of object: AnyObject) -> Int {
    unsafe malloc_usable_size(Unmanaged.passUnretained(object).toOpaque())
  }
}
