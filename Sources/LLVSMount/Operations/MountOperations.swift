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

  init(
    tree: TreeSession, meta: MetaTree, control: ControlService, pool: WorkerPool,
    announcer: Announcer, session: SessionReference
  ) {
    live = tree
    answers = MetaAnswers(meta: meta, tree: tree)
    self.control = control
    self.pool = pool
    self.announcer = announcer
    self.session = session
  }

  /// Returns the errno of an error, and logs damage.
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
}

/// A reference to the session, which is made after the operations that it owns. Both exist until the process ends.
final class SessionReference: Sendable {
  private let reference = Monitor<FuseSession?>(nil)

  var value: FuseSession? {
    get { reference.withLock { $0 } }
    set { reference.withLock { $0 = newValue } }
  }
}
