import LLVSCore

/// Counts how often values contain a text. A chunk that several values share is read once.
/// - Concurrency: one thread at a time.
final class OccurrenceCounter {
  /// A chunk, and how many bytes of the text the bytes before it end with.
  struct Start: Hashable {
    let chunk: Digest
    let matched: Int
  }

  /// The occurrences that end in a piece, and how many bytes of the text the piece ends with.
  struct Result {
    var count = 0
    var matched = 0
  }

  /// The most results that are kept: about 20 MB.
  private static let limit = 1 << 18
  private let contents: ContentStore
  private let text: [UInt8]
  private(set) var known: [Start: Result] = [:]
  /// The result of the value that is searched.
  private var sum = Result()

  /// `text` is not empty.
  init(of text: [UInt8], in contents: ContentStore) {
    self.text = text
    self.contents = contents
  }

  /// Counts the occurrences in a value that do not overlap, from its start.
  /// - Throws: ``StoreError/forgotten(_:)`` if bytes are forgotten.
  /// - Complexity: O(bytes of the chunks that are read for the first time + all chunks).
  func count(in stored: StoredContent) throws(StoreError) -> Int {
    if case .inline(let bytes) = stored.content { return search(bytes, after: 0).count }
    sum = Result()
    try contents.forEachPart(of: stored, zeros: addZeros, addPart)
    return sum.count
  }

  /// Counts as ``count(in:)``; nil if bytes are forgotten.
  func countIfHere(in stored: StoredContent) throws(StoreError) -> Int? {
    do throws(StoreError) {
      return try count(in: stored)
    } catch {
      guard error.isForgotten else { throw error }
      return nil
    }
  }

  private func addPart(_ part: ValuePart) throws(StoreError) {
    if part.kind == .chunk { add(try result(of: part, after: sum.matched)) }
  }

  private func addZeros(_ length: UInt64) { add(searchZeros(length, after: sum.matched)) }

  private func add(_ found: Result) {
    sum.count += found.count
    sum.matched = found.matched
  }

  private func result(of chunk: ValuePart, after matched: Int) throws(StoreError) -> Result {
    let start = Start(chunk: chunk.digest, matched: matched)
    if let found = known[start] { return found }
    let found = search(try chunk.bytes(), after: matched)
    if known.count >= Self.limit { known = [:] }
    known[start] = found
    return found
  }

  /// Searches bytes that follow the first `matched` bytes of the text.
  private func search(_ bytes: [UInt8], after matched: Int) -> Result {
    let window: [UInt8] = Array(text[..<matched]) + bytes
    var result = Result()
    var start = 0
    while let found = window[start...].firstRange(of: text) {
      result.count += 1
      start = found.upperBound
    }
    result.matched = min(text.count - 1, window.count - start)
    while !window.suffix(result.matched).elementsEqual(text.prefix(result.matched)) {
      result.matched -= 1
    }
    return result
  }

  private func searchZeros(_ length: UInt64, after matched: Int) -> Result {
    guard text.contains(where: { $0 != 0 }) else {
      let (zeros, size) = (UInt64(matched) + length, UInt64(text.count))
      return Result(count: Int(zeros / size), matched: Int(zeros % size))
    }
    // More zeros than the text has bytes change nothing any more.
    let count = Int(min(length, UInt64(2 * text.count)))
    return search([UInt8](repeating: 0, count: count), after: matched)
  }
}
