import Control
import FuseSession
import HistoryTree
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

// Serves the kernel's requests from the working tree, and from the meta tree for nodes numbered from 2^40 on.

/// The mounted file system.
/// - Concurrency: any number of requests at once; no lock is held while a reply is sent.
final class MountOperations: FuseOperations {
  let live: TreeSession
  var tree: WorkingTree { live.files }
  private let threads = ThreadGroups()
  /// The session that serves this; handlers notify it before they block.
  let session: SessionReference
  let answers: MetaAnswers
  var meta: MetaTree { answers.meta }
  let control: ControlService
  /// Runs commands, so that no thread that serves requests waits for them.
  let pool: WorkerPool
  /// The requests of its calls are answered without effect.
  let announcer: Announcer
  let listings: CachedListings

  init(
    tree: TreeSession, meta: MetaTree, control: ControlService, pool: WorkerPool,
    announcer: Announcer, listings: CachedListings, session: SessionReference
  ) {
    live = tree
    answers = MetaAnswers(meta: meta, tree: tree)
    self.control = control
    self.pool = pool
    self.announcer = announcer
    self.listings = listings
    self.session = session
  }

  func errno(of error: FSError) -> Int32 { answers.errno(of: error) }
  static func bytes(_ name: UnsafeRawBufferPointer) -> [UInt8] { Array(name) }
  static func fileName(_ name: UnsafeRawBufferPointer) -> FileName { FileName(name) }

  /// Returns the user and the process of a request.
  func caller(_ reply: borrowing some FuseReply & ~Copyable) -> Caller {
    let caller = reply.caller
    return Caller(
      uid: caller.uid, gid: caller.gid, process: threads.process(of: caller.pid),
      umask: caller.umask)
  }

  func process(of reply: borrowing some FuseReply & ~Copyable) -> Int32 {
    threads.process(of: reply.caller.pid)
  }

  // Answers the requests of the announcer's own calls; see Announcer.swift.

  func isAnnounced(_ request: RequestPointer) -> Bool { announcer.isOwn(request.caller.pid) }

  /// The uncached answer to a look-up before a call that makes or removes a name; nil for the usual one.
  func announcedEntry(_ name: [UInt8], in parent: NodeID) -> EntryAttributes? {
    let present = try? tree.lookup(parent.number, FileName(name))
    defer { if let present { tree.forget(present.number, count: 1) } }
    switch announcer.call(about: name) {
    case .making(_, let kind, let isFree):
      guard let present, present.kind == kind else { return nil }
      // The kernel forgets the entry and gets it back with the call's answer, so programs keep the directory. But
      // mounts below would be lost, and open files shown as deleted.
      if kind == .directory {
        if !isFree, tree.isKnownToKernel(present.number, besides: 1) { return nil }
      } else if tree.isOpen(present.number) {
        return nil
      }
      return .absent(timeout: 0)
    case .removing(_, let kind):
      guard present == nil else { return nil }
      let number = announcer.numberOfGone()
      var attributes = FileAttributes(inode: number, mode: kind.typeBits | 0o600)
      attributes.uid = SystemProcess.effectiveUser
      return EntryAttributes(
        node: NodeID(number), attributes: attributes, entryTimeout: 0, attributeTimeout: 0)
    case nil:
      return nil
    }
  }

  /// Answers a call that makes a name with the tree's node.
  func announceMade(_ name: [UInt8], in parent: NodeID, reply: consuming EntryReply) {
    do throws(FSError) {
      guard case .making(_, let kind, _)? = announcer.call(about: name) else { throw .notPermitted }
      let status = try tree.lookup(parent.number, FileName(name))
      guard status.kind == kind else {
        tree.forget(status.number, count: 1)
        throw .notPermitted
      }
      if !reply.entry(status.liveEntry) { tree.forget(status.number, count: 1) }
    } catch {
      reply.error(error.errno)
    }
  }

  /// Answers a call that removes a name, if the tree has none there.
  func announceRemoved(_ name: [UInt8], in parent: NodeID, reply: consuming EmptyReply) {
    do throws(FSError) {
      let status = try tree.lookup(parent.number, FileName(name))
      tree.forget(status.number, count: 1)
      reply.error(Errno.operationNotPermitted)
    } catch .noEntry {
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }

  /// Answers a call that changes attributes with the present ones.
  func announceChanged(_ node: NodeID, reply: consuming AttributesReply) {
    do throws(FSError) {
      let before = tree.publications
      let status = try tree.status(of: node.number)
      reply.attributes(status.attributes, timeout: EntryAttributes.forever)
      doubt(node, since: before)
    } catch {
      reply.error(error.errno)
    }
  }

  /// Answers an open for writing: nothing can be written through it.
  func announceOpened(_ reply: consuming OpenReply) {
    let number = OpenObject().number()
    if !reply.opened(number, [.keepCache, .noFlush]) { OpenObject.close(number) }
  }
}

/// A reference to the session, which is made after the operations that it owns. Both exist until the process ends.
final class SessionReference: Sendable {
  private let reference = Monitor<FuseSession?>(nil)

  var value: FuseSession? {
    get { reference.withLock { $0 } }
    set { reference.withLock { $0 = newValue } }
  }
}
