import Foundation
import LLVS
import LLVSModel

struct Contact: StorableModel, Mergeable {
  static let modelTypeIdentifier = "Contact"
  var name: String

  func merged(withSubordinate other: Contact, commonAncestor: Contact) throws -> Contact {
    Contact(name: try mergeProperty(name, other.name, commonAncestor.name))
  }
}

let directory = URL(fileURLWithPath: CommandLine.arguments[1])
let coordinator = try StoreCoordinator(withStoreDirectoryAt: directory)
let arbiter = MergeableArbiter()
arbiter.register(Contact.self)
coordinator.mergeArbiter = arbiter
try coordinator.save(Contact(name: "Ann"), instanceIdentifier: "ann")
print(try coordinator.fetchModel(Contact.self, instanceIdentifier: "ann")?.name ?? "nothing")
