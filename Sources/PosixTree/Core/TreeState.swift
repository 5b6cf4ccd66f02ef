import Inodes
import LLVSCore
import PendingTree
import TreeNames

/// What a working tree keeps in memory.
struct TreeState {
  /// What programs changed and no version has.
  var overlay: Overlay
  /// How often the kernel has looked each inode up and not forgotten it.
  var lookups: [InodeNumber: UInt64] = [:]
  /// The open files.
  var handles = HandleTable()
  /// Grows when another head is shown.
  var publication: UInt64 = 1
  /// True while another head is being put in place: nobody may read the recorded tree then.
  var isPublishing = false

  init(overlay: Overlay) {
    self.overlay = overlay
  }

  /// Applies a change that is in the journal.
  mutating func apply(_ change: Change) {
    overlay.apply(change)
  }

  /// True for an inode that lives on without a name: a program has it open or the kernel knows it.
  func isHeld(_ number: InodeNumber) -> Bool {
    handles.isOpen(number) || lookups[number] != nil
  }
}
