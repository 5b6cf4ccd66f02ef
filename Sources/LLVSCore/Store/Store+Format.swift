extension Store {
  /// Notes that the journal of the working tree is one that programs before format 3 cannot read, so that they refuse
  /// the store. It is durable when this returns.
  ///
  /// - Throws: ``StoreError/readOnly``; errors of the catalog.
  package func raiseFormat() throws(StoreError) { try catalog.raiseFormat() }
}
