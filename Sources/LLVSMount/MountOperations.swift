import Control
import FuseSession
import HistoryTree
import LLVSCore
import Platform
import TreeNames
import WorkingTree

// What the kernel asks, answered by the live tree; everything numbered from 2^40 belongs to `.llvs`.

/// The mounted file system.
///
/// - Concurrency: any number of requests at once; no lock is held while a reply is sent.
final class MountOperations: FuseOperations {
  let tree: LiveTree
  /// The session that serves this, to tell it of work that blocks.
  let session: SessionReference

  let answers: MetaAnswers
  var hidden: MetaTree { answers.hidden }
  let control: ControlService
  /// Where commands run, so that no thread that serves requests waits for one.
  let pool: WorkerPool

  init(
    tree: LiveTree, hidden: MetaTree, control: ControlService, pool: WorkerPool,
    session: SessionReference
  ) {
    self.tree = tree
    answers = MetaAnswers(hidden: hidden, tree: tree)
    self.control = control
    self.pool = pool
    self.session = session
  }

  /// What the kernel is told to ask; locks stay with the kernel, and it checks permissions itself.
  static let served: OperationSet = .all.subtracting([.copyFileRange, .access])

  /// What a request is answered with; of damage the log tells, whoever met it.
  func errno(of error: FSError) -> Int32 { answers.errno(of: error) }

  /// Copies a name, which is valid only during its request.
  static func bytes(_ name: UnsafeRawBufferPointer) -> [UInt8] { Array(name) }

  static func caller(_ reply: borrowing some FuseReply & ~Copyable) -> WorkingTree.Caller {
    let caller = reply.caller
    return WorkingTree.Caller(uid: caller.uid, gid: caller.gid, process: caller.pid)
  }
}

/// The session, which is made from the operations and so after them.
final class SessionReference: Sendable {
  private let reference = Monitor<FuseSession?>(nil)

  var value: FuseSession? {
    get { reference.withLock { $0 } }
    set { reference.withLock { $0 = newValue } }
  }
}
