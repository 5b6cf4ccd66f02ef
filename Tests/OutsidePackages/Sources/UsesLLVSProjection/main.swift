import Foundation
import LLVS
import LLVSProjection

let directory = URL(fileURLWithPath: CommandLine.arguments[1])
let coordinator = try StoreCoordinator(withStoreDirectoryAt: directory)
let contacts = ProjectedType(
  typeIdentifier: "Contact", tableName: "contacts",
  columns: [ProjectedColumn(name: "name", declaration: "TEXT")],
  extract: { ["name": .text(String(decoding: $0.data, as: UTF8.self))] })
let follower = try ProjectionFollower(
  databaseURL: directory.appendingPathComponent("contacts.sqlite"), coordinator: coordinator,
  types: [contacts], schemaVersion: 1)
try coordinator.save(inserting: [Value(idString: "ann/Contact", data: Data("Ann".utf8))])
await follower.projectCurrentVersion()
let name = try await follower.query { database in
  var name: String?
  try database.forEach(matchingQuery: "SELECT name FROM contacts") { row in
    name = row.value(inColumnAtIndex: 0)
  }
  return name
}
print(name ?? "nothing")
