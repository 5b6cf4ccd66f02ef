package import LLVSCore

extension Attributes {
  /// Returns the attributes of a shortened entry with the long ones among all extended attributes.
  package func completed(with extended: [Extended]) -> Attributes {
    let short = Attributes(extended: extended).extendedInShortened.count
    var whole = self
    whole.extended += extended.dropFirst(short)
    return whole
  }
}
