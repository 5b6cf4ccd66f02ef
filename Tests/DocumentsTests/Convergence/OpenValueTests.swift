import Documents
import LLVSCore
import Testing

@Suite("Values that nobody replaced")
struct OpenValueTests {
  @Test("A merge of two texts leaves a third value open that nobody had seen")
  func third() throws {
    let world = PlayedWorld()
    let (ann, ben) = (try PlayedStore(world), try PlayedStore(world))
    let key = 3
    try ann.write([key: ["first"]], on: ann.head)
    let old = ann.head
    try ben.write([key: ["other"]], on: ben.head)
    try ann.write([key: ["first", "below"]], on: ann.head)
    try ann.exchange(with: ben)
    try #require(try ann.open(key) == [["other"], ["first", "below"]])

    // An editor that was opened before saves: its text is merged with what is shown.
    try ann.write([key: ["above", "first"]], on: old)

    #expect(try ann.lines(key, at: ann.head) == ["above", "first", "below"])
    #expect(try ann.open(key) == [["other"], ["above", "first", "below"]])
    let document = PlayedDocument()
    _ = try ann.exchange(with: document)
    #expect(document.content.rows[key]?.count == 2)
    #expect(try ann.open(key) == [["other"], ["above", "first", "below"]])
  }
}

extension PlayedStore {
  /// The values of a key that nobody replaced.
  fileprivate func open(_ key: Int) throws -> Set<[String]> {
    let live = try state.keys[PlayedKeys.key(key)]?.live ?? []
    return Set(try live.compactMap { try $0.holder.flatMap { try lines(key, at: $0) } })
  }
}
