import Platform

/// Checks users' names for branches, tags and peers: `[A-Za-z0-9_][A-Za-z0-9._-]*`.
package enum StoreName {
  /// The longest name, in bytes.
  package static let maximumLength = 200

  /// The reason why a text is no valid name; nil if it is.
  package static func fault(_ name: String) -> String? {
    let bytes = Array(name.utf8)
    guard let first = bytes.first else { return "a name is missing" }
    guard bytes.count <= maximumLength else { return "a name over \(maximumLength) bytes" }
    guard first.isPlain("_") else { return "\"\(name)\" does not begin with a letter, digit or _" }
    guard bytes.allSatisfy({ $0.isPlain("_.-") }) else {
      return "\"\(name)\" has other characters than letters, digits, \".\", \"_\" and \"-\""
    }
    guard !name.hasPrefix("llvs.") else { return "names that begin with llvs. are reserved" }
    return nil
  }

  /// - Throws: ``ControlError`` of kind `grammar` if it is no valid name.
  package static func checked(tag name: String) throws(ControlError) -> String {
    if let fault = fault(name) { throw ControlError(.grammar, fault) }
    return name
  }

  /// - Throws: ``ControlError`` of kind `grammar` for an invalid or reserved name.
  package static func checked(branch name: String) throws(ControlError) -> String {
    // `merge all` means all lines, and `head` the version that the tree shows.
    guard name != "all", name != "head" else {
      throw ControlError(.grammar, "no branch can be called \(name)")
    }
    return try checked(tag: name)
  }
}
