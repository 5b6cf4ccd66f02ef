package import LLVSCore

/// The exchange of a version with a document, apart from how the document is kept and when heads are merged.
///
/// News of the document is taken first, and merged into the head by the caller; then the head's values are
/// written to the document.
package struct DocumentSync {
  /// The versions that were made of what a document says.
  package struct Taken: Sendable {
    /// The versions, which are to be merged into the head.
    package var versions: [VersionNumber] = []
    /// True if the document said something new; false if values were only written again for it.
    package var isNews = false
    /// The comparison that says so, with which ``DocumentSync/outgoing(to:at:bytes:)`` need not compare again.
    package var comparison: DocumentComparison.Remembered?
  }

  /// The changes to be written to a document.
  package struct Outgoing {
    /// The changes.
    package var export: DocumentExport
    /// True if values should be written again for the document at the next exchange.
    package var isRewriteDue: Bool
    /// True if they should be written again before anything is written to the document, as it would have too
    /// many authors otherwise.
    package var isRewriteFirst: Bool
  }

  private let store: Store
  private let address: DocumentAddress

  /// Creates an exchange; the address's path is only in messages.
  package init(_ store: Store, _ address: DocumentAddress) {
    self.store = store
    self.address = address
  }

  /// Makes versions of what is new in a document, or else of values that have to be written again before the
  /// document is written to.
  ///
  /// - Parameters:
  ///   - document: what the document says.
  ///   - head: the version that the live tree shows; nil in a store without versions.
  ///   - line: the line of the versions.
  ///   - message: what the history says of them.
  ///   - isUnrelatedAllowed: true to take a document that has nothing in common with the directory.
  ///   - mayRewrite: says whether a key may be written again because of what a merge brought back.
  ///   - finish: called in the transaction that makes the versions.
  /// - Returns: the versions; none if nothing has to be made.
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

  /// Returns what has to change in a document so that it says what a version says; nil while it holds what
  /// that version does not know.
  ///
  /// - Throws: ``DocumentProblem`` as an error of a store.
  /// - Complexity: O(*n*) in the keys of both.
  package func outgoing(
    to document: DocumentSnapshot, at head: VersionNumber
  ) throws(StoreError) -> Outgoing? {
    try outgoing(
      try DocumentComparison(document, address.directory, with: head, in: store), at: head)
  }

  /// Returns the same for a document that was compared with another version before, and whose values `bytes`
  /// reads.
  ///
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

  /// Throws a problem, with what somebody can do about it.
  private func refuse(_ problem: DocumentProblem?) throws(StoreError) {
    guard let problem else { return }
    guard case .unrelated(let text) = problem, text.contains("no author in common") else {
      throw problem.asStoreError
    }
    let directory = String(decoding: address.directory.path, as: UTF8.self)
    throw .unrelated(
      text
        + "; \"llvs import --unrelated '\(address.path)' --into '/\(directory)'\" takes it all the "
        + "same: equal values are one, others are conflicts")
  }
}
