import LLVSCore
import Platform

// Records that the kernel did not take. They stay in the buffer, and the same bytes would go to the same place
// when the next call records something; where the change is taken back, they are made into records of as many
// bytes that change nothing, so that what stands behind them keeps its place.

extension Journal {
  /// What became of records that were to be withdrawn.
  enum Withdrawal {
    case withdrawn
    /// The kernel has taken them meanwhile.
    case recorded
    /// Somebody is writing them.
    case underWay
    /// They are in a new generation, or some of them were taken: they stay.
    case settled
  }

  /// Makes records that were not written into ones that change nothing; each is named by its end.
  ///
  /// Call with the tree's lock held, under which the change is taken back too.
  func withdraw(_ records: [Position]) -> Withdrawal {
    state.withLock { s in
      guard let first = records.min(), let last = records.max() else { return .settled }
      if s.written >= last { return .recorded }
      if s.isWriting { return .underWay }
      let start = s.appended - Position(s.buffer.count)
      guard s.unbegun == nil, s.failure == nil, s.written < first, start < first else {
        return .settled
      }
      var wanted = Set(records)
      var found: [(at: Int, record: [UInt8])] = []
      var at = 0
      while !wanted.isEmpty {
        guard let frame = Self.frame(in: s.buffer, at: at) else { return .settled }
        if wanted.remove(start + Position(frame.end)) != nil {
          guard let change = try? Change(decoding: Array(s.buffer[frame.meta])),
            let nothing = change.ofNobody
          else { return .settled }
          let record = JournalFrame.record(dataLength: frame.dataLength, nothing.encode)
          guard record.count == frame.meta.upperBound - at else { return .settled }
          found.append((at, record))
        }
        at = frame.end
      }
      for (at, record) in found {
        s.buffer.replaceSubrange(at..<(at + record.count), with: record)
      }
      return .withdrawn
    }
  }

  /// Waits until nobody writes.
  func awaitWriter() {
    _ = state.wait { $0.isWriting ? nil : true }
  }

  /// A record in the buffer, which holds whole ones.
  private static func frame(
    in buffer: [UInt8], at start: Int
  ) -> (meta: Range<Int>, dataLength: Int, end: Int)? {
    let meta = start + JournalFrame.headerSize
    guard meta <= buffer.count else { return nil }
    var input = RecordDecoder(Array(buffer[start..<meta]))
    guard let metaLength = try? input.get(UInt32.self),
      let dataLength = try? input.get(UInt32.self)
    else { return nil }
    let end = meta + Int(metaLength) + Int(dataLength)
    guard end <= buffer.count else { return nil }
    return (meta..<(meta + Int(metaLength)), Int(dataLength), end)
  }
}

extension Change {
  /// A change of as many bytes that names a node which there is not; nil for one that is never withdrawn.
  fileprivate var ofNobody: Change? {
    switch self {
    case .write(_, let extent, let checksum, let time, let epoch, let flags):
      .write(
        inode: 0, extent: extent, checksum: checksum, time: time, epoch: epoch, flags: flags)
    case .resize(_, let size, let time, let epoch, let flags):
      .resize(inode: 0, size: size, time: time, epoch: epoch, flags: flags)
    case .punch(_, let range, let time, let epoch):
      .punch(inode: 0, range: range, time: time, epoch: epoch)
    case .setAttributes(_, let attributes, let keepsExtended, let time, let explicitTime):
      .setAttributes(
        inode: 0, attributes: attributes, keepsExtended: keepsExtended, time: time,
        explicitTime: explicitTime)
    case .rename(_, let from, let toParent, let to, let exchange, let time, let epoch):
      .rename(
        fromParent: 0, from: from, toParent: toParent, to: to, exchange: exchange, time: time,
        epoch: epoch)
    case .exchange(_, let from, let toParent, let to, let time, let fromEpoch, let toEpoch):
      .exchange(
        fromParent: 0, from: from, toParent: toParent, to: to, time: time, fromEpoch: fromEpoch,
        toEpoch: toEpoch)
    case .remove(_, let name, let time, let epoch):
      .remove(parent: 0, name: name, time: time, epoch: epoch)
    default: nil
    }
  }
}
