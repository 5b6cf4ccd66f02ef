import LLVSCore
import Platform

// The access times of files, which this tree keeps in memory: versions and journal do not have them.
//
// Guarded by `LiveTree.lock`.

/// The rules by which reading a file or listing a directory updates its access time; mount(8) has an
/// option for each.
package struct AccessRules: Hashable, Sendable {
  package enum Rule: Hashable, Sendable {
    /// `noatime`
    case never
    /// `relatime`: if it is not later than mtime and ctime, or is a day old.
    case relative
    /// `strictatime`
    case always
  }

  package var files: Rule
  package var directories: Rule

  package init(files: Rule = .relative, directories: Rule? = nil) {
    self.files = files
    self.directories = directories ?? files
  }
}

extension LiveTree {
  /// The age, in seconds, at which `relatime` updates an access time in any case.
  private static let day: Int64 = 86_400

  /// Sets the rules for access times.
  package func setAccessRules(_ rules: AccessRules) {
    lock.withLock { _ in accessRules = rules }
  }

  /// True if each listing of a directory updates its access time.
  package var countsListings: Bool {
    lock.withLock { _ in accessRules.directories == .always }
  }

  /// Updates the access time of a directory that is listed, if the rules say so.
  package func noteListing(_ inode: UInt64) {
    lock.withLock { _ in if let node = known(inode) { noteAccess(of: node) } }
  }

  /// Updates a node's access time if the rules say so, and returns true then; call with the lock held.
  @discardableResult
  func noteAccess(of node: LiveNode) -> Bool {
    let rule = node.kind == .directory ? accessRules.directories : accessRules.files
    guard rule != .never else { return false }
    let now = Self.now()
    if rule == .relative {
      let mtime = node.attributes.mtime ?? node.born
      let known = accessTimes[node.inode] ?? mtime
      guard known <= mtime || known <= node.ctime || now.seconds - known.seconds >= Self.day else {
        return false
      }
    }
    accessTimes[node.inode] = now
    return true
  }

  /// Notes the access time of a node whose mtime is about to change: without a note the mtime is shown
  /// as the access time. Call with the lock held.
  func keepAccessTime(of node: LiveNode) {
    guard replayShift == nil, accessTimes[node.inode] == nil else { return }
    accessTimes[node.inode] = node.attributes.mtime ?? node.born
  }
}
