import Inodes
import LLVSCore
import Platform
import TreeNames

// Scratch files and files that stay unsaved keep the data files that their bytes stand in. Before a
// checkpoint their bytes are copied together, so that the number of data files (a descriptor each) and
// the bytes kept for the sake of a few stay bounded.
//
// Nothing is recorded: the checkpoint that follows names the copies; if it does not come, a replay finds
// the old places, whose files go only with a checkpoint.

extension LiveTree {
  /// From so many data files on their bytes are gathered.
  static let dataFileLimit = 64
  /// The most that is copied at one checkpoint.
  private static let gatheringLimit: UInt64 = 64 << 20

  /// Where gathered bytes stand now.
  private struct Copy {
    var old: Extent
    var source: UInt32
    var offset: UInt64
  }

  /// Copies what stands in old data files together if there are many of them; ``Journal/recorded(_:)`` must
  /// be called for each staging file returned once the checkpoint stands or was given up.
  ///
  /// - Complexity: O(1) as a rule; else O(pending) and at most 64 MiB copied.
  func gatherDataFiles() throws(FSError) -> [UInt32] {
    let current = journal.state.withLock { s -> Set<UInt32>? in
      guard s.files.count >= Self.dataFileLimit else { return nil }
      return Set(s.stages.values.map(\.number)).union([s.generation])
    }
    guard let current else { return [] }
    let scattered = lock.withLock { _ in extents { !current.contains($0) } }
    var copies: [UInt32: [Copy]] = [:]
    var staged: [UInt32] = []
    var total: UInt64 = 0
    do throws(FSError) {
      for extent in scattered where extent.length <= 8 << 20 {
        total += extent.length
        guard total <= Self.gatheringLimit else { break }
        let bytes: [UInt8]
        do throws(FSError) {
          bytes = try [UInt8].filled(Int(extent.length)) { (raw) throws(FSError) in
            try journal.read(extent.source, at: extent.offset, into: raw)
          }
        } catch .stale, .store {
          // What rotted stays where it is, with the checksum that tells.
          continue
        }
        let place = try stage(bytes)
        staged.append(place.source)
        copies[extent.source, default: []].append(
          Copy(old: extent, source: place.source, offset: place.offset))
      }
    } catch {
      for number in staged { journal.recorded(number) }
      throw error
    }
    lock.withLock { _ in
      move { extent in
        guard
          let copy = copies[extent.source]?.first(where: {
            $0.old.offset <= extent.offset
              && extent.offset + extent.length <= $0.old.offset + $0.old.length
          })
        else { return [] }
        return [
          Extent(
            start: extent.start, length: extent.length,
            offset: copy.offset + (extent.offset - copy.old.offset), source: copy.source)
        ]
      }
    }
    return staged
  }

  /// Stages bytes that stand elsewhere; ``Journal/recorded(_:)`` must follow.
  func stage(_ bytes: [UInt8]) throws(FSError) -> Journal.Staged {
    var result: Result<Journal.Staged, FSError> = .failure(.io)
    bytes.withUnsafeBytes { raw in
      do throws(FSError) { result = .success(try journal.stage(raw)) } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }

  /// The extents that pending files have in certain data files, each place once; call with the lock held.
  private func extents(in isWanted: (UInt32) -> Bool) -> [Extent] {
    struct Place: Hashable {
      var source: UInt32
      var offset: UInt64
      var length: UInt64
    }
    var seen: Set<Place> = []
    var found: [Extent] = []
    func note(_ content: FileContent?) {
      content?.extents.forEach { extent in
        guard extent.source != Extent.base, isWanted(extent.source) else { return }
        let place = Place(source: extent.source, offset: extent.offset, length: extent.length)
        if seen.insert(place).inserted { found.append(extent) }
      }
    }
    for node in nodes.values {
      note(node.file?.content)
      note(node.file?.saved?.content)
      note(node.file?.counted?.content)
    }
    return found
  }
}
