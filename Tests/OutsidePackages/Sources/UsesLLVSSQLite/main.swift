import Foundation
import LLVS
import LLVSSQLite

let directory = URL(fileURLWithPath: CommandLine.arguments[1])
let store = try Store(rootDirectoryURL: directory, storage: SQLiteStorage())
let version = try store.makeVersion(
  basedOnPredecessor: nil, inserting: [Value(idString: "ann", data: Data("Ann".utf8))])
let read = try store.value(idString: "ann", at: version.id)
print(read.map { String(decoding: $0.data, as: UTF8.self) } ?? "nothing")
