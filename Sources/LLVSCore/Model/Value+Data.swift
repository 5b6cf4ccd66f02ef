public import Foundation

// What programs written for the original say with Foundation's types.

extension Value.ID {
  /// A key that nobody else has: a random UUID.
  public init() {
    self.init(UUID().uuidString)
  }
}

extension Value {
  /// Creates a value of bytes held by Foundation.
  ///
  /// - Parameters:
  ///   - id: the key; one that nobody else has unless given.
  ///   - data: the bytes, which are copied.
  public init(id: ID = ID(), data: Data) {
    self.init(id: id, data: Array(data))
  }
}

extension Version.ID {
  /// An id that no version has: a random UUID.
  public init() {
    self = .random()
  }
}

extension Version.MetadataValue {
  /// Creates a value of bytes held by Foundation, which are copied.
  public init(data: Data) {
    self.init(data: Array(data))
  }
}
