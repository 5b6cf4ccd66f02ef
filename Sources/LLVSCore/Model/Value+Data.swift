package import Foundation

// Initialisers with Foundation's types, for programs written for the original.

extension Value.ID {
  /// Creates a unique key: a random UUID.
  package init() {
    self.init(UUID().uuidString)
  }
}

extension Value {
  /// Creates a value of bytes held by Foundation.
  ///
  /// - Parameters:
  ///   - id: the key; a unique one unless given.
  ///   - data: the bytes, which are copied.
  package init(id: ID = ID(), data: Data) {
    self.init(id: id, data: Array(data))
  }
}

extension Version.ID {
  /// Creates a unique id: a random UUID.
  package init() {
    self = .random()
  }
}

extension Version.MetadataValue {
  /// Creates a value of bytes held by Foundation, which are copied.
  package init(data: Data) {
    self.init(data: Array(data))
  }
}
