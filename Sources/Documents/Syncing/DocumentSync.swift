package import LLVSCore

/// The exchange of a version with a document: news of the document is imported first, and merged by the caller;
/// then the head's values are exported.
package struct DocumentSync {
  /// The versions that were made from a document.
  package struct Taken: Sendable {
    /// The versions that are to be merged into the head.
    package var versions: [VersionNumber] = []
    /// False if values were only rewritten.
    package var isNews = false
    /// Saves ``DocumentSync/outgoing(to:at:bytes:)`` a comparison.
    package var comparison: DocumentComparison.Remembered?
  }

  package struct Outgoing {
    package var export: DocumentExport
    /// True if values should be rewritten at the next exchange.
    package var isRewriteDue: Bool
    /// True if values must be rewritten before the export, because it would have too many authors.
    package var isRewriteFirst: Bool
  }

  private let store: Store
  private let address: DocumentAddress

  /// The address's path is only in messages.
  package init(_ store: Store, _ address: DocumentAddress) {
    self.store = store
    self.address = address
  }

  /// Makes versions of a document's news, else of values to rewrite.
  ///
  /// Without a head the store has no versions. `isUnrelatedAllowed` allows data that have nothing in common with
  /// the directory. `finish` runs in the transaction that makes the versions.
  /// - Throws: ``DocumentProblem`` as an error of a store; nothing is made then.
  /// - Complexity: O(*n*) in the keys of the document.
  package func take(
    _ document: DocumentSnapshot, at head: VersionNumber?, line: Branch?, message: String?,
    allowingUnrelated isUnrelatedAllowed: Bool = false,
    mayRewrite: (Key) -> Bool = { _ in true },
    finish: (WriteTransaction) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) -> Taken {
    let comparison = try DocumentComparison(document, address.directory, with: head, in: store)
    try refuse(try comparison.problem(allowingUnrelated: isUnrelatedAllowed))
    var taken = try take(
      comparison, at: head, line: line, message: message, mayRewrite: mayRewrite, finish: finish)
    taken.comparison = comparison.remembered
    return taken
  }

  private func take(
    _ comparison: DocumentComparison, at head: VersionNumber?, line: Branch?, message: String?,
    mayRewrite: (Key) -> Bool, finish: (WriteTransaction) throws(StoreError) -> Void
  ) throws(StoreError) -> Taken {
    if let head, let rescue = try DocumentRescue(comparison, at: head, in: store) {
      return try make(isNews: true, finish) { transaction throws(StoreError) in
        try rescue.add(to: transaction, on: head, line: line)
      }
    }
    if comparison.hasNews {
      let plan = try DocumentImport(comparison, under: head, in: store)
      return try make(isNews: true, finish) { transaction throws(StoreError) in
        try plan.add(to: transaction, line: line, message: message)
      }
    }
    guard let head,
      let rewrite = try DocumentRewrite(comparison, at: head, in: store, mayRewrite: mayRewrite)
    else { return Taken() }
    return try make(isNews: false, finish) { transaction throws(StoreError) in
      try rewrite.add(to: transaction, on: head, line: line)
    }
  }

  private func make(
    isNews: Bool, _ finish: (WriteTransaction) throws(StoreError) -> Void,
    _ body: (WriteTransaction) throws(StoreError) -> [VersionNumber]
  ) throws(StoreError) -> Taken {
    try store.write { transaction throws(StoreError) in
      let made = try body(transaction)
      try finish(transaction)
      return Taken(versions: made, isNews: isNews)
    }
  }

  /// Returns the changes that give a document a version's values; nil if the document has news.
  /// - Throws: ``DocumentProblem`` as an error of a store.
  /// - Complexity: O(*n*) in the keys of both.
  package func outgoing(
    to document: DocumentSnapshot, at head: VersionNumber
  ) throws(StoreError) -> Outgoing? {
    try outgoing(
      try DocumentComparison(document, address.directory, with: head, in: store), at: head)
  }

  /// Does the same for an earlier comparison, whose values `bytes` reads.
  /// - Complexity: O(*d* log *n*) in the keys at which the versions and the document differ.
  package func outgoing(
    to document: DocumentComparison.Remembered, at head: VersionNumber,
    bytes: @escaping (DocumentSnapshot.Entry) throws(StoreError) -> [UInt8]
  ) throws(StoreError) -> Outgoing? {
    try outgoing(
      try DocumentComparison(document, with: head, in: store, bytes: bytes), at: head)
  }

  private func outgoing(
    _ comparison: DocumentComparison, at head: VersionNumber
  ) throws(StoreError) -> Outgoing? {
    try refuse(try comparison.problem())
    if comparison.hasNews { return nil }
    if try DocumentRescue(comparison, at: head, in: store) != nil { return nil }
    let rewrite = try DocumentRewrite(comparison, at: head, in: store)
    return Outgoing(
      export: try DocumentExport(comparison, at: head, in: store), isRewriteDue: rewrite != nil,
      isRewriteFirst: rewrite?.savesAuthors ?? false)
  }

  private func refuse(_ problem: DocumentProblem?) throws(StoreError) {
    guard let problem else { return }
    guard problem == .noCommonAuthor else { throw problem.asStoreError }
    let directory = String(decoding: address.directory.path, as: UTF8.self)
    throw .unrelated(
      problem.text
        + "; \"llvs import --unrelated '\(address.path)' --into '/\(directory)'\" takes it all the "
        + "same: equal values are one, others are conflicts")
  }
}
