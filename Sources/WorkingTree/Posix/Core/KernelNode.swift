struct KernelNode {
  /// The look-ups that the kernel has not forgotten.
  var lookups: UInt64 = 0
  /// The thread that got the attributes since they last changed: 0 for none, negative for several or an unknown
  /// one.
  private var reader: Int32 = 0

  /// Notes that a thread gets the attributes; 0 is an unknown thread.
  mutating func noteReader(_ thread: Int32) {
    reader = thread > 0 && (reader == 0 || reader == thread) ? thread : -1
  }

  /// Notes a change by a thread; true if another thread may still bring the old attributes to the kernel.
  mutating func noteChange(by thread: Int32) -> Bool {
    defer { reader = 0 }
    return reader != 0 && reader != thread
  }
}
