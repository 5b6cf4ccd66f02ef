import Foundation
import LLVS
import LLVSModel
import TestSupport
import Testing

/// Swift types that are merged property by property.
@Suite(.timeLimit(.minutes(1)))
struct MergeableTests {
  private struct Address: Codable, Mergeable {
    var street: String
    var town: String

    func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self {
      Address(
        street: try mergeProperty(street, other.street, commonAncestor.street),
        town: try mergeProperty(town, other.town, commonAncestor.town))
    }

    func salvaging(from other: Self) throws -> Self {
      Address(street: street, town: town.isEmpty ? other.town : town)
    }
  }

  private struct Contact: StorableModel, Mergeable {
    static let modelTypeIdentifier = "Contact"

    var name: String
    var age: Int
    var address: Address?

    func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self {
      Contact(
        name: try mergeProperty(name, other.name, commonAncestor.name),
        age: try mergeProperty(age, other.age, commonAncestor.age),
        address: try mergeProperty(address, other.address, commonAncestor.address))
    }

    func salvaging(from other: Self) throws -> Self {
      Contact(
        name: try salvageProperty(name, other.name), age: try salvageProperty(age, other.age),
        address: try salvageProperty(address, other.address))
    }
  }

  @Test("a property is taken from the side that changed it, and of two from the dominant one")
  func properties() throws {
    #expect(try mergeProperty(1, 2, 1) == 2)
    #expect(try mergeProperty(2, 1, 1) == 2)
    #expect(try mergeProperty(2, 3, 1) == 2)
    #expect(try salvageProperty(1, 2) == 1)
    let base = Address(street: "a", town: "b")
    let (one, two) = (Address(street: "A", town: "b"), Address(street: "x", town: "B"))
    #expect(
      try one.merged(withSubordinate: two, commonAncestor: base) == Address(street: "A", town: "B"))
  }

  @Test("something that may be absent: every case")
  func optionals() throws {
    let (a, d, s) = (
      Address(street: "a", town: "a"), Address(street: "d", town: "a"),
      Address(street: "a", town: "s")
    )
    func merged(_ d: Address?, _ s: Address?, _ a: Address?) throws -> Address? {
      try d.merged(withSubordinate: s, commonAncestor: a)
    }
    #expect(try merged(d, s, a) == Address(street: "d", town: "s"))
    #expect(try merged(d, nil, a) == d)
    #expect(try merged(a, nil, a) == nil)
    #expect(try merged(nil, s, a) == s)
    #expect(try merged(nil, a, a) == nil)
    #expect(try merged(nil, nil, a) == nil)
    #expect(try merged(nil, s, nil) == s)
    #expect(try merged(nil, nil, nil) == nil)
    #expect(try merged(d, s, nil) == d)
    #expect(
      try merged(Address(street: "d", town: ""), s, nil) == Address(street: "d", town: "s"))
    #expect(try merged(d, nil, nil) == d)
    #expect(try Optional(d).salvaging(from: nil) == d)
    #expect(try Optional<Address>.none.salvaging(from: d) == nil)
  }

  @Test("keys name the instance and the type")
  func keys() {
    let id = modelValueID(typeIdentifier: "Contact", instanceIdentifier: "people/1")
    #expect(id == Value.ID("people/1/Contact"))
    #expect(modelTypeIdentifier(from: id) == "Contact")
    #expect(instanceIdentifier(from: id) == "people/1")
    #expect(modelTypeIdentifier(from: Value.ID("Contact")) == nil)
    #expect(instanceIdentifier(from: Value.ID("Contact")) == nil)
  }

  private func data(_ contact: Contact) throws -> Data {
    try JSONEncoder().encode(contact)
  }

  @Test("an arbiter merges the values of registered types, and leaves the others to its fallback")
  func arbiter() throws {
    let directory = try TemporaryDirectory()
    let store = try Store(rootDirectoryURL: URL(fileURLWithPath: directory.file("s")))
    func id(_ instance: String) -> Value.ID {
      modelValueID(typeIdentifier: Contact.modelTypeIdentifier, instanceIdentifier: instance)
    }
    func value(_ instance: String, _ name: String, _ age: Int, _ address: Address? = nil)
      throws -> Value
    {
      Value(id: id(instance), data: try data(Contact(name: name, age: age, address: address)))
    }
    let plain = Value.ID("notes")
    let root = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [
        try value("1", "Ann", 30, Address(street: "s", town: "t")), try value("2", "Bob", 40),
        try value("3", "Cid", 50), Value(id: plain, data: Data([0])),
        Value(id: id("broken"), data: Data("{}".utf8)),
      ])
    let first = try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [try value("4", "Dan", 1)],
      updating: [
        try value("1", "Anna", 30, Address(street: "S", town: "t")), try value("3", "Cid", 51),
        Value(id: plain, data: Data([1])), Value(id: id("broken"), data: Data("{1".utf8)),
      ],
      removing: [id("2")])
    let second = try store.makeVersion(
      basedOnPredecessor: root.id,
      inserting: [try value("4", "Eve", 2, Address(street: "", town: "u"))],
      updating: [
        try value("1", "Ann", 31, Address(street: "s", town: "T")), try value("2", "Bob", 41),
        Value(id: plain, data: Data([2])), Value(id: id("broken"), data: Data("{2".utf8)),
      ],
      removing: [id("3")])
    let arbiter = MergeableArbiter()
    arbiter.register(Contact.self)
    let merged = try store.merge(version: first.id, with: second.id, resolvingWith: arbiter)
    func contact(_ instance: String) throws -> Contact {
      let value = try #require(try store.value(id: id(instance), at: merged.id))
      return try JSONDecoder().decode(Contact.self, from: value.data)
    }
    #expect(
      try contact("1")
        == Contact(name: "Anna", age: 31, address: Address(street: "S", town: "T")))
    // A change wins over a removal.
    #expect(try contact("2") == Contact(name: "Bob", age: 41, address: nil))
    #expect(try contact("3") == Contact(name: "Cid", age: 51, address: nil))
    // Inserted by both: the first one's, as far as it says something.
    #expect(try contact("4") == Contact(name: "Dan", age: 1, address: nil))
    #expect(try store.value(id: plain, at: merged.id)?.data == Data([2]))
    #expect(try store.value(id: id("broken"), at: merged.id)?.data == Data("{2".utf8))
    // The same merge gives the same bytes.
    let again = try store.merge(version: first.id, with: second.id, resolvingWith: arbiter)
    #expect(
      try store.value(id: id("1"), at: again.id)?.data
        == store.value(id: id("1"), at: merged.id)?.data)
    #expect(again.id != merged.id)
  }
}
