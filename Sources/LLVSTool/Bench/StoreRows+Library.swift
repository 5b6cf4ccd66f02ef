internal import Foundation
import LLVS

/// The work of the original's published figures, done by a program on the public library.
extension StoreRows {
  /// The best of the original's back-ends at 10,000 values with keys that suit it; in seconds.
  private enum Original {
    static let initialVersion = 5.41
    static let update = 0.0029
    static let reads = 0.084
    static let difference = 0.0072
    static let versions = 16.7
    static let reopen = 0.25
  }

  /// Measures versions, reads and differences.
  ///
  /// - Parameters:
  ///   - path: the directory of a new store.
  ///   - add: gets the work, our time and the original's.
  /// - Throws: ``Store/Error``.
  static func library(
    at path: String, _ add: (_ work: String, _ ours: Double, _ reference: Double) -> Void
  ) throws {
    let count = 10_000
    let url = URL(fileURLWithPath: path)
    var random = BenchRandom(5)
    func value(_ id: Value.ID) -> Value { Value(id: id, data: Data(random.bytes(200))) }
    let keys = (0..<count).map { _ in Value.ID() }
    do {
      let store = try Store(rootDirectoryURL: url)
      let values = keys.map(value)
      var version: Version.ID?
      add(
        "first version of \(count) values",
        try BenchTimer.seconds {
          version = try store.makeVersion(basedOnPredecessor: nil, inserting: values).id
        }, Original.initialVersion)
      let first = version
      var updates: [Double] = []
      for index in 0..<100 {
        let value = value(keys[index * 97 % count])
        updates.append(
          try BenchTimer.seconds {
            version = try store.makeVersion(basedOnPredecessor: version, updating: [value]).id
          })
      }
      add("one-value version, durable", BenchTimer.median(updates), Original.update)
      guard let first, let last = version else { throw BenchError.failed("no version was made") }
      add(
        "1,000 reads",
        try BenchTimer.seconds {
          for index in 0..<1000 {
            _ = try store.value(idString: keys[index * 7].rawValue, at: last)
          }
        }, Original.reads)
      add(
        "difference of 100 changes (theirs: of 10)",
        try BenchTimer.seconds {
          _ = try store.valueChanges(madeBetween: first, and: last)
        }, Original.difference)
      add(
        "10,000 versions of one value, one by one",
        try BenchTimer.seconds {
          for index in 0..<10_000 {
            version = try store.makeVersion(
              basedOnPredecessor: version, updating: [value(keys[index])]
            ).id
          }
        }, Original.versions)
    }
    add(
      "reopen with 10,000 versions",
      try BenchTimer.seconds { _ = try Store(rootDirectoryURL: url) }, Original.reopen)
  }
}
