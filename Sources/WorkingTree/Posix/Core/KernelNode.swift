/// An inode that the kernel knows.
struct KernelNode {
  /// The kernel's look-ups that it has not forgotten.
  var lookups: UInt64 = 0
  /// The thread for which the kernel was given the attributes since they last changed: 0 for none, negative for
  /// several or an unknown one.
  private var reader: Int32 = 0

  /// Notes that the kernel is given the attributes for a thread; 0 is an unknown thread.
  mutating func noteReader(_ thread: Int32) {
    reader = thread > 0 && (reader == 0 || reader == thread) ? thread : -1
  }

  /// Notes that a thread changed the attributes; true if another thread may still bring the old ones to the kernel.
  mutating func noteChange(by thread: Int32) -> Bool {
    defer { reader = 0 }
    return reader != 0 && reader != thread
  }
}
