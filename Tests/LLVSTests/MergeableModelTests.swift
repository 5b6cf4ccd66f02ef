import Foundation
public import LLVSModel
import Testing

/// A model that other modules see.
@MergeableModel
public struct PublicModel: Codable, Equatable {
  /// A text.
  public var title: String = ""
  /// A number.
  public var count: Int = 0
}

@MergeableModel
struct OddModel: StorableModel, Codable, Equatable {
  static let modelTypeIdentifier = "Odd"
  static var shared: Int { 1 }
  let id: String
  var first = 0, second = 0
  var a, b: Double
  private(set) var watched: Int = 0 { didSet { _ = oldValue } }
  var half: Int { first / 2 }
  var twice: Int {
    get { first * 2 }
    set { first = newValue / 2 }
  }
  var `default`: String?
  var when: Date = .init(timeIntervalSince1970: 0)
  var identifier: Foundation.UUID?
  var payload: Data = .init()
  var starred: Bool = false
  var ratio: Optional<Double> = nil
  var tags: [String] = []
  var place: PublicModel?
  var updatedAtURL: Title = ""
  typealias Title = String
  struct Inner: Codable, Equatable { var notMine = 0 }
  func merge(_ other: Int) -> Int { other }
}

@MergeableModel
struct EmptyModel: Codable, Equatable {}

enum Names {
  @MergeableModel
  struct Nested: Codable, Equatable { var name: String = "" }
}

/// What `@MergeableModel` writes.
@Suite("Models that are merged by a macro", .timeLimit(.minutes(1)))
struct MergeableModelTests {
  private func merged<T: Mergeable>(
    _ ancestor: T, _ first: (inout T) -> Void, _ second: (inout T) -> Void
  ) throws -> T {
    var (dominant, subordinate) = (ancestor, ancestor)
    first(&dominant)
    second(&subordinate)
    return try dominant.merged(withSubordinate: subordinate, commonAncestor: ancestor)
  }

  private let odd = OddModel(id: "x", a: 1, b: 2, place: PublicModel(title: "t", count: 1))

  @Test("each stored variable is merged, and no other")
  func merging() throws {
    let public_ = try merged(PublicModel(title: "a", count: 1)) {
      $0.title = "b"
    } _: {
      $0.count = 2
    }
    #expect(public_ == PublicModel(title: "b", count: 2))
    let result = try merged(odd) {
      ($0.first, $0.b, $0.default) = (3, 9, "d")
      $0.place?.title = "T"
    } _: {
      ($0.first, $0.second, $0.a, $0.tags, $0.starred) = (4, 5, 7, ["z"], true)
      $0.place?.count = 2
    }
    var wanted = odd
    (wanted.first, wanted.second, wanted.a, wanted.b) = (3, 5, 7, 9)
    (wanted.default, wanted.tags, wanted.starred) = ("d", ["z"], true)
    wanted.place = PublicModel(title: "T", count: 2)
    #expect(result == wanted)
    #expect(
      try EmptyModel().merged(withSubordinate: EmptyModel(), commonAncestor: EmptyModel())
        == EmptyModel())
    #expect(
      try merged(Names.Nested(name: "a")) { _ in
      } _: {
        $0.name = "b"
      } == Names.Nested(name: "b"))
    #expect(try Names.Nested(name: "a").salvaging(from: Names.Nested(name: "b")).name == "a")
  }

  @Test("columns have the names and kinds that a person would give them")
  func columns() {
    let schema = OddModel.sqliteSchema
    let columns = schema.columns.map { "\($0.propertyName) \($0.columnName) \($0.storage)" }
    #expect(
      columns == [
        "a a real", "b b real", "watched watched integer", "default default_ text",
        "when when_ date", "identifier identifier uuid", "payload payload blob",
        "starred starred boolean", "ratio ratio real", "tags tags json", "place place json",
        "updatedAtURL updated_at_url json",
      ])
    #expect(schema.propertiesWithoutColumns == ["first", "second"])
    #expect(
      schema.propertiesStoredAsJSON == [
        "tags": "[String]", "place": "PublicModel?", "updatedAtURL": "Title",
      ])
    #expect(schema.columns.map(\.declaration).prefix(4) == ["REAL", "REAL", "INTEGER", "TEXT"])
    #expect(EmptyModel.sqliteSchema == ModelSchema(columns: []))
  }
}
