/// A place that holds objects: whole files under names, and nothing else.
///
/// All that exchange asks of a remote is here. Nothing conditional is promised, since most servers do not
/// keep such promises: a name may be put by two writers at once, a put that failed may have left nothing,
/// a part, or the whole, and a list may not show what was just put or deleted.
///
/// Back-ends do one request at a time for each call and do not try again; ``RetryingStore`` does.
///
/// - Concurrency: every call blocks, and may be made from any number of threads.
package protocol ObjectStore: Sendable {
  /// Abilities in which kinds of remotes differ, before anything was tried; ``StoreProbe`` tries.
  var capabilities: StoreCapabilities { get }

  /// Makes the folders that objects are going to be in, and those above them, where a remote has such.
  ///
  /// - Throws: ``RemoteError``, with `noPlace` if what the address names is not there and is not made.
  func prepare(_ folders: [String]) throws(RemoteError)

  /// Lists objects of a folder, a page at a time.
  ///
  /// A folder that is not there holds nothing. The order is the remote's own. Names that begin with a dot may
  /// not be shown: some servers hide them.
  ///
  /// - Parameters:
  ///   - prefix: which objects.
  ///   - after: names up to this one are left out.
  ///   - page: the `next` of the page before; nil for the first page.
  /// - Returns: the page, and where the next begins.
  /// - Throws: ``RemoteError``.
  func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage

  /// Reads an object, or a range of it.
  ///
  /// - Parameters:
  ///   - name: the object.
  ///   - range: the bytes wanted, nil for all. Fewer come where the object ends before.
  ///   - sink: takes the bytes in order, in pieces of the remote's choice.
  /// - Returns: the number of bytes that the sink was given.
  /// - Throws: ``RemoteError``, with `absent` if there is no such object; what the sink throws.
  @discardableResult
  func get(_ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink) throws(RemoteError)
    -> UInt64

  /// Writes an object; one that is there is replaced.
  ///
  /// - Throws: ``RemoteError``, with `mismatched` if the bytes are not of the length or hash that the body
  ///   says; then no whole object was made.
  func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError)

  /// Removes an object; that it is not there is no error.
  ///
  /// - Throws: ``RemoteError``.
  func delete(_ name: ObjectName) throws(RemoteError)

  /// Gives an object another name, under which nothing may stand.
  ///
  /// - Throws: ``RemoteError``, with `absent` if there is no such object, `exists` if something has the new
  ///   name, `unsupported` where ``capabilities`` has no `move`.
  func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError)

  /// A way of its own to write objects that appear whole; nil where they are put and moved. `scratch` is the
  /// name of a folder that only this writer uses.
  ///
  /// - Throws: ``RemoteError``.
  func ownStaging(scratch: String) throws(RemoteError) -> (any ObjectStaging)?
}

extension ObjectStore {
  /// None: objects are put and moved.
  package func ownStaging(scratch: String) throws(RemoteError) -> (any ObjectStaging)? { nil }
}

/// Takes bytes of an object as they come; false once it wants no more.
package typealias ObjectSink = (UnsafeRawBufferPointer) throws(RemoteError) -> Bool

/// Optional capabilities of a remote.
package struct StoreCapabilities: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// An object appears whole or not at all, whatever happens to the put.
  package static let wholePuts = StoreCapabilities(rawValue: 1)
  /// Objects can be given another name.
  package static let move = StoreCapabilities(rawValue: 2)
  /// Objects may be empty.
  package static let emptyObjects = StoreCapabilities(rawValue: 4)
  /// A request costs no journey: many small ranges cost no more than the whole.
  package static let isNear = StoreCapabilities(rawValue: 8)
}

/// An object as a list shows it.
package struct ListedObject: Hashable, Sendable {
  package var name: ObjectName
  /// Its length in bytes.
  package var length: UInt64
  /// When it was last written, by the remote's clock, in seconds since 1970; nil where that is not told.
  package var modified: Int64?

  /// Creates one.
  package init(name: ObjectName, length: UInt64, modified: Int64? = nil) {
    self.name = name
    self.length = length
    self.modified = modified
  }
}

/// A part of a list.
package struct ListPage: Sendable {
  /// The start of the next page, as a token that only the remote understands.
  package struct Next: Hashable, Sendable {
    package let token: String

    /// Creates one.
    package init(token: String) { self.token = token }
  }

  package var objects: [ListedObject]
  /// Names of what is there and is no object: folders, links, devices. Only directories tell them.
  package var others: [ObjectName] = []
  /// The argument for requesting the next page; nil on the last page.
  package var next: Next?

  package init(objects: [ListedObject], next: Next? = nil) {
    self.objects = objects
    self.next = next
  }
}

extension ObjectStore {
  /// Lists all pages, each given to `body` as it comes.
  ///
  /// - Throws: ``RemoteError``, also for a remote whose pages begin again; what `body` throws.
  package func list(
    _ prefix: ObjectPrefix, after: ObjectName? = nil,
    _ body: ([ListedObject]) throws(RemoteError) -> Void
  ) throws(RemoteError) {
    var next: ListPage.Next?
    repeat {
      let page = try list(prefix, after: after, page: next)
      try body(page.objects)
      guard page.next == nil || page.next != next else {
        throw RemoteError(.malformed, "the list of \(prefix) goes on where it began")
      }
      next = page.next
    } while next != nil
  }

  /// All objects of a folder that begin so.
  ///
  /// - Throws: ``RemoteError``, with `malformed` if there are more than `bound`.
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

  /// The bytes of an object, or of a range of it.
  ///
  /// - Throws: ``RemoteError``, with `malformed` if there are more than `bound`.
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
  /// The number of elements, also where `Int` could not hold it.
  var length: UInt64 { upperBound - lowerBound }
}
