import LLVSCore
import Platform
import TreeNames

// Large payloads, whose bytes go to files beside the journal.
//
// A file is written to by one thread at a time, whatever their number: the kernel holds its lock for as
// long as it copies. So a large payload goes in halves to two files, written at the same time. A record
// names the file that its bytes are in, so to whoever reads them these are files as any other.

extension Journal {
  /// Which of the files that are written to at the same time.
  enum Lane: Hashable, Sendable { case first, second }

  /// A staging file that payloads are added to.
  struct Stage {
    let file: File
    let number: UInt32
    var end: UInt64 = 0
  }

  /// What was staged: where, and the checksum of each ``Payload/blockSize`` of it.
  struct Staged {
    var source: UInt32
    var offset: UInt64
    var length: UInt64
    var checksums: [UInt64]
  }

  /// From how many bytes on two threads write: for less, waking one up takes as long as it saves.
  static let halvingLimit = 512 << 10

  /// Writes bytes to staging files and says where, in order; no record refers to them yet, so
  /// ``recorded(_:)`` must follow for each part.
  func stage(halving data: UnsafeRawBufferPointer) throws(FSError) -> [Staged] {
    guard data.count >= Self.halvingLimit else { return [try stage(data)] }
    let half = data.count / 2 / Payload.blockSize * Payload.blockSize
    let front = UnsafeRawBufferPointer(rebasing: data[..<half])
    let rest = UnsafeRawBufferPointer(rebasing: data[half...])
    let (second, first) = halving.both {
      self.staging(rest, in: .second)
    } beside: {
      staging(front, in: .first)
    }
    switch (first, second) {
    case (.success(let first), .success(let second)): return [first, second]
    case (.success(let part), .failure(let error)), (.failure(let error), .success(let part)):
      recorded(part.source)
      throw error
    case (.failure(let error), .failure): throw error
    }
  }

  private func staging(
    _ data: UnsafeRawBufferPointer, in lane: Lane
  ) -> Result<Staged, FSError> {
    do throws(FSError) {
      return .success(try stage(data, in: lane))
    } catch {
      return .failure(error)
    }
  }

  /// Writes bytes to a staging file and says where; no record refers to them yet, so
  /// ``recorded(_:)`` must follow.
  func stage(_ data: UnsafeRawBufferPointer, in lane: Lane = .first) throws(FSError) -> Staged {
    let checksums = stride(from: 0, to: data.count, by: Payload.blockSize).map { start in
      Checksum.of(
        UnsafeRawBufferPointer(
          rebasing: data[start..<min(start + Payload.blockSize, data.count)]))
    }
    while true {
      let place: (File, UInt32, UInt64)? = state.withLock { s in
        guard let stage = s.stages[lane], stage.end < Self.stageLimit else { return nil }
        s.stages[lane]?.end += UInt64(data.count)
        s.stagesToSync[stage.number] = stage.file
        s.unrecorded[stage.number, default: 0] += 1
        for (index, checksum) in checksums.enumerated() {
          let start = index * Payload.blockSize
          s.sums[stage.number, default: PayloadSums()].add(
            Payload(
              offset: stage.end + UInt64(start), checksum: checksum,
              length: UInt32(min(Payload.blockSize, data.count - start))))
        }
        return (stage.file, stage.number, stage.end)
      }
      if let (file, number, offset) = place {
        do throws(SystemError) {
          try file.write(data, at: offset)
        } catch {
          recorded(number)
          throw FSError.system(error)
        }
        return Staged(
          source: number, offset: offset, length: UInt64(data.count), checksums: checksums)
      }
      try openStage(lane)
    }
  }

  /// A staged payload is recorded, or given up.
  func recorded(_ number: UInt32) {
    state.withLock { s in
      let rest = (s.unrecorded[number] ?? 0) - 1
      s.unrecorded[number] = rest > 0 ? rest : nil
    }
  }

  private func openStage(_ lane: Lane) throws(FSError) {
    let number = state.withLock { s in
      defer { s.nextNumber += 1 }
      return s.nextNumber
    }
    do throws(SystemError) {
      let file = try File.kept(
        "\(directory)/\(Self.stageName(number))", [.readWrite, .create, .exclusive])
      // The name has to last as long as the bytes; once for many writes.
      do throws(SystemError) {
        try FileSystem.syncDirectory(directory)
      } catch {
        // One that cannot be removed now is removed at the next mount.
        try? FileSystem.unlink(file.path)
        throw error
      }
      state.withLock { s in
        s.files[number] = file
        s.stages[lane] = Stage(file: file, number: number)
      }
    } catch {
      throw FSError.system(error)
    }
  }
}

extension Journal.State {
  /// Whether payloads are added to a file.
  func isStaging(in number: UInt32) -> Bool {
    stages.values.contains { $0.number == number }
  }

  /// Adds no more payloads to some files.
  mutating func leaveStages(_ isLeft: (UInt32) -> Bool) {
    stages = stages.filter { !isLeft($0.value.number) }
  }
}
