package import LLVSCore

extension Attributes {
  /// Returns the attributes of a shortened entry with the long extended ones that it lacks.
  ///
  /// - Parameter extended: all extended attributes of the whole entry; the access control lists among them do not
  ///   count, since a shortened entry has its own.
  /// - Returns: the attributes of the whole entry.
  package func completed(with extended: [Extended]) -> Attributes {
    let short = Attributes(extended: extended).extendedInShortened.count
    var whole = self
    whole.extended += extended.dropFirst(short)
    return whole
  }
}
