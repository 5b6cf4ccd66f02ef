/// A place for objects: whole files under names, and nothing else.
///
/// Most servers have no conditional writes: two writers may put a name at once, a failed put may leave nothing, a
/// part, or the whole, and a list may be out of date.
///
/// Back-ends make one request at a time for each call, once; ``RetryingStore`` repeats it.
/// - Concurrency: every call blocks, and may be made from any thread.
package protocol ObjectStore: Sendable {
  var capabilities: StoreCapabilities { get }
  /// When the server answered last, by its own clock in seconds since 1970; nil where it does not say.
  var serverTime: Int64? { get }

  /// Makes folders, and those above them, where a remote has folders.
  /// - Throws: ``RemoteError``, with `noPlace` if the place of the address is missing and is not made.
  func prepare(_ folders: [String]) throws(RemoteError)

  /// Lists a page of the objects of a folder after a name, in any order.
  /// A missing folder is empty; some servers hide names with a dot. `page` is the `next` of the previous page.
  func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage

  /// Passes an object, or a range of it, to a sink in order; returns the number of bytes, fewer at its end.
  /// - Throws: ``RemoteError``, with `absent` if there is no such object; an error of the sink.
  @discardableResult
  func get(_ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink) throws(RemoteError)
    -> UInt64

  /// Writes or replaces an object.
  /// - Throws: ``RemoteError``, with `mismatched` and no whole object if the bytes are not those of the body.
  func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError)
  /// Removes an object, if it exists.
  func delete(_ name: ObjectName) throws(RemoteError)

  /// Gives an object an unused name.
  /// - Throws: ``RemoteError``: `absent`, `exists`, or `unsupported` where ``capabilities`` has no `move`.
  func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError)
  /// Returns the store's own way to write objects that appear whole; nil to put and move them.
  func ownStaging(scratch: String) throws(RemoteError) -> (any ObjectStaging)?
}

extension ObjectStore {
  package var serverTime: Int64? { nil }

  package func ownStaging(scratch: String) throws(RemoteError) -> (any ObjectStaging)? { nil }
}

/// Receives bytes of an object; false ends the transfer.
package typealias ObjectSink = (UnsafeRawBufferPointer) throws(RemoteError) -> Bool

package struct StoreCapabilities: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// An object appears whole or not at all, even if the put fails.
  package static let wholePuts = StoreCapabilities(rawValue: 1)
  package static let move = StoreCapabilities(rawValue: 2)
  package static let emptyObjects = StoreCapabilities(rawValue: 4)
  /// Many small ranges cost no more than the whole.
  package static let isNear = StoreCapabilities(rawValue: 8)
}

package struct ListedObject: Hashable, Sendable {
  package var name: ObjectName
  package var length: UInt64
  /// The last write, by the remote's clock in seconds since 1970; nil if unknown.
  package var modified: Int64?

  package init(name: ObjectName, length: UInt64, modified: Int64? = nil) {
    self.name = name
    self.length = length
    self.modified = modified
  }
}

package struct ListPage: Sendable {
  /// The start of the next page, a token of the remote.
  package struct Next: Hashable, Sendable {
    package let token: String

    package init(token: String) { self.token = token }
  }

  package var objects: [ListedObject]
  /// The names of folders, and those of links and devices; only directories list them.
  package var folders: [ObjectName] = []
  package var others: [ObjectName] = []
  package var next: Next?

  package init(objects: [ListedObject], next: Next? = nil) {
    self.objects = objects
    self.next = next
  }
}

extension ObjectStore {
  /// - Throws: ``RemoteError``, also if pages repeat; an error of `body`.
  package func list(
    _ prefix: ObjectPrefix, after: ObjectName? = nil,
    _ body: ([ListedObject]) throws(RemoteError) -> Void
  ) throws(RemoteError) {
    var next: ListPage.Next?
    var emptyPages = 0
    repeat {
      let page = try list(prefix, after: after, page: next)
      try body(page.objects)
      emptyPages = page.objects.isEmpty ? emptyPages + 1 : 0
      guard page.next == nil || page.next != next && emptyPages < 256 else {
        throw RemoteError(.malformed, "the list of \(prefix) goes on where it began")
      }
      next = page.next
    } while next != nil
  }

  /// Returns all objects of a prefix; `malformed` if there are more than `bound`.
  package func all(
    _ prefix: ObjectPrefix, after: ObjectName? = nil, atMost bound: Int = 1 << 20
  ) throws(RemoteError) -> [ListedObject] {
    var objects: [ListedObject] = []
    try list(prefix, after: after) { (page) throws(RemoteError) in
      objects += page
      guard objects.count <= bound else {
        throw RemoteError(.malformed, "\(prefix) has more than \(bound) objects")
      }
    }
    return objects
  }

  /// Returns true if a new list of a server has an object that a GET did not find.
  /// - Throws: ``RemoteError``, with `unreachable` if the server gives no other listed object either: something on the
  ///   way may answer for it.
  package func lists(absent name: ObjectName) throws(RemoteError) -> Bool {
    guard !capabilities.contains(.isNear), let prefix = ObjectPrefix(folder: name.folder) else {
      return false
    }
    let names = try all(prefix).map(\.name)
    guard names.contains(name) else { return false }
    for other in names.shuffled().prefix(8) where other != name {
      do throws(RemoteError) {
        _ = try bytes(of: other, range: 0..<1, atMost: 1)
        return true
      } catch  where error.kind == .absent {
      }
    }
    throw .answeredByAnother(name.text, status: 404)
  }

  /// Returns the bytes of an object or range; `malformed` if there are more than `bound`.
  package func bytes(
    of name: ObjectName, range: Range<UInt64>? = nil, atMost bound: Int
  ) throws(RemoteError) -> [UInt8] {
    var bytes: [UInt8] = []
    try get(name, range: range) { (piece) throws(RemoteError) in
      guard piece.count <= bound - bytes.count else {
        throw RemoteError(.malformed, "more than \(bound) bytes", object: name.text)
      }
      bytes += piece
      return true
    }
    return bytes
  }
}

extension Range<UInt64> {
  /// The number of elements, which `Int` may not hold.
  var length: UInt64 { upperBound - lowerBound }
}
