import LLVSCore
import Platform

extension DataFiles {
  /// Reads a range of a data file, in O(bytes + two runs). Throws ``StoreError/corrupt(_:)`` for missing or damaged
  /// bytes.
  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    let range = offset..<(offset + UInt64(buffer.count))
    let (runs, missing) = runs(of: source, in: [range])
    guard let file = file(source), missing.isEmpty else {
      throw .corrupt("bytes \(range) of data file \(source) of the journal are not there")
    }
    if let run = runs.first, runs.count == 1, run.range != range {
      return try copy(run, range, from: file, into: buffer)
    }
    try fill(buffer, from: file, at: offset)
    for run in runs {
      if range.contains(run.offset), run.end <= range.upperBound {
        let from = Int(run.offset - offset)
        try check(
          UnsafeRawBufferPointer(rebasing: buffer[from..<(from + Int(run.length))]), run, file)
      } else {
        let part = run.range.clamped(to: range)
        let from = Int(part.lowerBound - offset)
        try copy(
          run, part, from: file,
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[from..<(from + part.count)]))
      }
    }
  }

  /// Reads and checks a whole run, and copies a part of the checked bytes.
  private func copy(
    _ run: BytesSum, _ part: Range<UInt64>, from file: File,
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    var whole = [UInt8](repeating: 0, count: Int(run.length))
    let checked = whole.withUnsafeMutableBytes { bytes in
      Result { () throws(StoreError) in
        try fill(bytes, from: file, at: run.offset)
        try check(UnsafeRawBufferPointer(bytes), run, file)
      }
    }
    try checked.get()
    let from = Int(part.lowerBound - run.offset)
    whole.withUnsafeBytes { bytes in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[from..<(from + buffer.count)]))
    }
  }

  private func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from file: File, at offset: UInt64
  ) throws(StoreError) {
    let count = try StoreError.translating(try file.read(into: buffer, at: offset))
    guard count == buffer.count else {
      throw .corrupt(
        "\(file.path): bytes \(offset) to \(offset + UInt64(buffer.count)) of a pending file are missing"
      )
    }
  }

  private func check(
    _ bytes: UnsafeRawBufferPointer, _ run: BytesSum, _ file: File
  ) throws(StoreError) {
    guard Checksum.of(bytes) == run.sum else {
      throw .corrupt(
        "\(file.path): bytes \(run.offset) to \(run.end) are not what was written there")
    }
  }
}
