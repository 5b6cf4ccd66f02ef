import Platform

/// Operations on a directory; each returns the seconds that it took.
enum Workload {
  /// Makes directories for 100 files each below a new directory; returns the paths of the files,
  /// which do not exist yet.
  static func layout(_ count: Int, below path: String) throws -> [String] {
    try FileSystem.makeDirectory(path)
    var files: [String] = []
    files.reserveCapacity(count)
    for index in 0..<count {
      let directory = "\(path)/d\(1000 + index / 100)"
      if index % 100 == 0 { try FileSystem.makeDirectory(directory) }
      files.append("\(directory)/file\(1000 + index % 100)")
    }
    return files
  }

  /// Creates, writes and closes each file.
  static func create(_ files: [String], _ bytes: [UInt8]) throws -> Double {
    try BenchTimer.seconds {
      for path in files {
        try File(path, [.readWrite, .create, .exclusive]).write(bytes, at: 0)
      }
    }
  }

  static func status(_ files: [String]) throws -> Double {
    try BenchTimer.seconds { for path in files { _ = try FileSystem.status(path) } }
  }

  /// Lists every directory.
  static func list(_ directory: String, directories: Int) throws -> Double {
    try BenchTimer.seconds {
      for index in 0..<directories { _ = try FileSystem.list("\(directory)/d\(1000 + index)") }
    }
  }

  /// Lists every directory and reads the attributes of everything in it.
  static func walk(_ directory: String, directories: Int) throws -> Double {
    try BenchTimer.seconds {
      for index in 0..<directories {
        let path = "\(directory)/d\(1000 + index)"
        for name in try FileSystem.list(path) {
          _ = try FileSystem.status("\(path)/\(name)", following: false)
        }
      }
    }
  }

  /// Opens, reads and closes each file.
  static func read(_ files: [String], size: Int) throws -> Double {
    try withBuffer(size) { buffer in
      try BenchTimer.seconds {
        for path in files {
          guard try File(path, .read).read(into: buffer, at: 0) == size else {
            throw BenchError.failed("\(path) is not as long as it was written")
          }
        }
      }
    }
  }

  /// Writes one file from beginning to end, with bytes that neither repeat nor compress.
  static func write(_ path: String, size: Int) throws -> Double {
    var random = BenchRandom(UInt64(size))
    var block = random.bytes(1 << 20)
    return try BenchTimer.seconds {
      let file = try File(path, [.readWrite, .create])
      for offset in stride(from: 0, to: size, by: block.count) {
        // Each page differs from all others: a store that keeps equal data once would read it from
        // the disk once.
        for page in stride(from: 0, to: block.count, by: 4096) {
          let number = UInt64(offset + page)
          withUnsafeBytes(of: number) { stamp in
            for index in 0..<8 { block[page + index] = stamp[index] }
          }
        }
        try file.write(block, at: UInt64(offset))
      }
    }
  }

  static func readThrough(_ path: String, size: Int) throws -> Double {
    try withBuffer(1 << 20) { buffer in
      try BenchTimer.seconds {
        let file = try File(path, .read)
        for offset in stride(from: 0, to: size, by: buffer.count) {
          _ = try file.read(into: buffer, at: UInt64(offset))
        }
      }
    }
  }

  /// Overwrites blocks of 4 KiB at random offsets.
  static func scatter(_ path: String, size: Int, count: Int, seed: UInt64) throws -> Double {
    var random = BenchRandom(seed)
    let block = random.bytes(4096)
    return try BenchTimer.seconds {
      let file = try File(path, .readWrite)
      for _ in 0..<count {
        let place = random.next() % UInt64(size / 4096)
        try file.write(block, at: place * 4096)
      }
    }
  }

  private static func withBuffer<Result>(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
    defer { buffer.deallocate() }
    return try body(buffer)
  }
}
