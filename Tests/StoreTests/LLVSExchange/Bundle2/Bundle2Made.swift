import Foundation
import Platform
import TestSupport

@testable import LLVSCore
@testable import LLVSExchange

/// A bundle of version 2 in memory, as a writer made it.
struct Bundle2Made {
  let name: BundleName
  let bytes: [UInt8]

  /// Writes a bundle with a body that adds items and versions.
  init(
    writer: String = "w", sequence: UInt64 = 3, scratch: String,
    stays: [BundleClaim]? = nil, from: SequenceRuns = SequenceRuns(),
    seal: (any FrameSeal)? = nil,
    _ body: (Bundle2Writer) throws -> Void
  ) throws {
    var bytes: [UInt8] = []
    let maker = try Bundle2Writer(
      writer: writer, sequence: sequence, scratch: scratch, seal: seal
    ) { bytes.append(contentsOf: $0) }
    try body(maker)
    let own = BundleClaim(writer: writer, upTo: sequence, kept: SequenceRuns([sequence]))
    let (length, hash, _) = try maker.finish(stays: stays ?? [own], from: from)
    self.bytes = bytes
    name = BundleName(writer: writer, sequence: sequence, length: length, hash: hash)
  }

  func reader(_ cache: FrameCache = FrameCache()) throws -> Bundle2Reader {
    try Bundle2Reader(name, BundleInMemory(bytes: bytes), cache: cache)
  }

  /// Returns a version without metadata.
  static func version(_ id: String, after: [String] = [], _ time: Double = 1) -> Version {
    Version(
      id: Version.ID(id),
      predecessors: after.first.map {
        .init(idOfFirst: .init($0), idOfSecond: after.dropFirst().first.map { .init($0) })
      }, timestamp: time, valueDataSize: nil, metadata: [:])
  }

  /// Returns a spool with changes.
  static func changes(_ changes: [OutlineChange], scratch: String) throws -> Spool {
    let spool = Spool(directory: scratch)
    for change in changes {
      var bytes: [UInt8] = []
      try bytes.append(change)
      try bytes.withPiece { (piece) throws(StoreError) in try spool.append(piece) }
    }
    return spool
  }
}

extension Bundle2Reader {
  /// Reads all that is in a bundle, and returns how much that is.
  @discardableResult
  func readAll() throws -> Int {
    let table = try table()
    var count = table.items.count
    for number in table.items.indices { count += try item(number, in: table).count }
    let entries = try entries()
    let ids = entries.compactMap(\.id)
    var index = 0
    for entry in entries where entry.id != nil {
      let description = try description(of: entry) { distance in
        distance <= UInt64(index) ? ids[index - Int(distance)] : nil
      }
      index += 1
      let stream = OutlineStream(self, description.changes, label: label)
      while !stream.isAtEnd {
        _ = try stream.change(in: directory)
        count += 1
      }
    }
    return count
  }
}
