/// The name of a line of versions, compared as bytes.
package struct Branch: ByteComparedName {
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }
}
