import Events
import Inodes
import LLVSCore
import Platform

// The tree's part of writing anew what is pending: invariant J7.

extension LiveTree {
  /// Why nothing is recorded now, since a sync has failed; nil as a rule.
  package var refusalReason: String? { journal.refusal }

  /// Where bytes that were given up stand now.
  private struct Copies {
    private var places: [UInt32: [(old: Payload, source: UInt32, offset: UInt64)]] = [:]

    mutating func note(_ place: PayloadPlace, _ staged: Journal.Staged) {
      places[place.source, default: []].append((place.payload, staged.source, staged.offset))
    }

    mutating func sort() {
      for source in places.keys { places[source]?.sort { $0.old.offset < $1.old.offset } }
    }

    /// The parts of an extent that have another place now.
    func moved(_ extent: Extent) -> [Extent] {
      guard let copies = places[extent.source] else { return [] }
      var parts: [Extent] = []
      let end = extent.offset + extent.length
      let first = copies.partitioningIndex { $0.old.end > extent.offset }
      for (old, source, offset) in copies[first...].prefix(while: { $0.old.offset < end }) {
        let from = max(old.offset, extent.offset)
        parts.append(
          Extent(
            start: extent.start + (from - extent.offset), length: min(old.end, end) - from,
            offset: offset + (from - old.offset), source: source))
      }
      return parts
    }
  }

  /// Writes everything pending anew after a failed sync, in files of its own, and lets work go on; does
  /// nothing where no sync has failed, or where the disk does not take it either.
  ///
  /// - Complexity: O(pending), with what stands in files given up read and written.
  /// - Concurrency: while no version is being made; nothing else is recorded meanwhile.
  func heal() {
    var staged: [UInt32] = []
    var lost: [PayloadPlace] = []
    var unfinished: Journal.Preparation?
    do {
      guard try journal.beginHealing() else { return }
      let cut = try LiveState(of: store).cut
      var copies = Copies()
      var met: Set<PayloadPlace> = []
      var isDone = false
      while !isDone {
        let due = lock.withLock { _ in
          journal.payloadsGivenUp(in: referencedRanges(), besides: met)
        }
        for place in due {
          met.insert(place)
          guard let bytes = journal.bytes(of: place) else {
            lost.append(place)
            continue
          }
          let copy = try stage(bytes)
          staged.append(copy.source)
          copies.note(place, copy)
        }
        copies.sort()
        let prepared = try journal.prepareFile(expecting: checkpointEstimate()) {
          self.checkpointSize()
        }
        unfinished = prepared
        var isWhole = false
        let taken = copies
        try journal.begin(
          prepared, heals: true, locked: { body in lock.withLock { _ in body() } }
        ) { [self] in
          // A change that was under way may have come to stand in what was given up.
          guard journal.payloadsGivenUp(in: referencedRanges(), besides: met).isEmpty else {
            return nil
          }
          isWhole = true
          move { taken.moved($0) }
          return checkpoint(cut: cut)
        }
        isDone = isWhole
        if !isDone { journal.discard(prepared) }
        unfinished = nil
      }
    } catch {
      damage.tell("pending changes could not be written again: \(error)")
    }
    if let unfinished { journal.discard(unfinished) }
    tell(of: lost)
    for number in staged { journal.recorded(number) }
    journal.noteHealed(losses: lost.count) { lock.withLock { _ in referencedDataFiles() } }
  }

  /// Gives the bytes of pending files other places; call with the lock held.
  func move(_ parts: (Extent) -> [Extent]) {
    func moved(_ content: FileContent) -> FileContent {
      var changes: [Extent] = []
      content.extents.forEach { if $0.source != Extent.base { changes += parts($0) } }
      var result = content
      for extent in changes { result.extents.put(extent) }
      return result
    }
    func move(_ file: LiveFile?) {
      guard let file else { return }
      file.content = moved(file.content)
      if let saved = file.saved { saved.content = moved(saved.content) }
      if let counted = file.counted, counted !== file.saved {
        counted.content = moved(counted.content)
      }
    }
    for node in nodes.values { move(node.file) }
    for detached in detachedNodes.values where nodes[detached.node.inode] !== detached.node {
      move(detached.node.file)
    }
  }

  /// Names the files whose bytes could not be read back.
  private func tell(of lost: [PayloadPlace]) {
    guard !lost.isEmpty else { return }
    let ranges = Dictionary(grouping: lost, by: \.source).mapValues { places in
      places.map { $0.payload.offset..<$0.payload.end }
    }
    let names = lock.withLock { _ in
      nodes.values.filter { node in
        var isHit = false
        for content in [node.file?.content, node.file?.saved?.content] {
          content?.extents.forEach { extent in
            let range = extent.offset..<(extent.offset + extent.length)
            if ranges[extent.source]?.contains(where: { $0.overlaps(range) }) == true {
              isHit = true
            }
          }
        }
        return isHit
      }.map { node in
        node.path.map { String(decoding: $0, as: UTF8.self) } ?? "#\(node.inode)"
      }
    }
    for name in names {
      damage.tell("bytes did not reach the disk and cannot be read back", of: name)
    }
  }
}
