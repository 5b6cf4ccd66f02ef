package import LLVSCore

/// The exchange of a version with a document, apart from how the document is kept.
package struct DocumentSync {
  /// What came of reading a document.
  package struct Outcome: Sendable {
    /// The version that holds all; nil in a store without versions.
    package var head: VersionNumber?
    /// The versions that were made, merges included.
    package var madeCount = 0
    /// The keys that the document changed.
    package var keyCount = 0
    /// The keys that were written anew although nobody changed them.
    package var rewritten: [Key] = []
    /// The merges.
    package var merges: [MergeReport] = []
  }

  private let store: Store
  private let directory: DocumentDirectory
  private let line: Branch?
  private let arbiter: (VersionGraph) -> any ClashArbiter

  /// Creates an exchange of a line's head with documents of a directory.
  package init(
    _ store: Store, _ directory: DocumentDirectory, line: Branch?,
    arbiter: @escaping (VersionGraph) -> any ClashArbiter
  ) {
    self.store = store
    self.directory = directory
    self.line = line
    self.arbiter = arbiter
  }

  /// Takes what is new in a document, and merges it into the version that the live tree shows; if that
  /// fails nothing is taken. `message` is what the history says of it, and `finish` is called in the
  /// transaction with the version that the live tree then shows.
  package func retrieve(
    _ document: DocumentSnapshot, at head: VersionNumber?, message: String?,
    finish: (WriteTransaction, VersionNumber) throws(StoreError) -> Void = { _, _ in }
  ) throws(StoreError) -> Outcome {
    var outcome = Outcome(head: head)
    let comparison = try DocumentComparison(document, directory, with: head, in: store)
    guard comparison.hasNews else { return outcome }
    let plan = try DocumentImport(comparison, under: head, in: store)
    outcome.keyCount = plan.keyCount
    try store.write { transaction throws(StoreError) in
      let made = try plan.add(to: transaction, line: line, message: message)
      try merge(made, transaction, &outcome)
      if let head = outcome.head { try finish(transaction, head) }
    }
    return outcome
  }

  /// Writes anew what a document needs to be written anew, before it is written to. `mayRewrite` says
  /// whether a key may be written anew because of what a merge brought back.
  package func rewrite(
    for document: DocumentSnapshot, at head: VersionNumber,
    mayRewrite: (Key) -> Bool = { _ in true },
    finish: (WriteTransaction, VersionNumber) throws(StoreError) -> Void = { _, _ in }
  ) throws(StoreError) -> Outcome {
    var outcome = Outcome(head: head)
    let comparison = try DocumentComparison(document, directory, with: head, in: store)
    guard
      let rewrite = try DocumentRewrite(comparison, at: head, in: store, mayRewrite: mayRewrite)
    else { return outcome }
    outcome.rewritten = rewrite.changedKeys
    try store.write { transaction throws(StoreError) in
      let made = try rewrite.add(to: transaction, on: head, line: line)
      try merge(made, transaction, &outcome)
      if let head = outcome.head { try finish(transaction, head) }
    }
    return outcome
  }

  /// What has to change in a document so that it says what a version says.
  package func export(
    to document: DocumentSnapshot, at head: VersionNumber
  ) throws(StoreError) -> DocumentExport {
    let comparison = try DocumentComparison(document, directory, with: head, in: store)
    return try DocumentExport(comparison, at: head, in: store)
  }

  private func merge(
    _ made: [VersionNumber], _ transaction: WriteTransaction, _ outcome: inout Outcome
  ) throws(StoreError) {
    let report = try transaction.mergeHeads(
      ofLine: line, live: outcome.head ?? made.first, arbiter: arbiter)
    outcome.madeCount += made.count + report.made.count
    outcome.merges.append(report)
    outcome.head = report.outcome
  }
}
