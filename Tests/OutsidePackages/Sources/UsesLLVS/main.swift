import Foundation
import LLVS

let directory = URL(fileURLWithPath: CommandLine.arguments[1])
let store = try Store(rootDirectoryURL: directory)
let value = Value(idString: "ann", data: Data("Ann".utf8))
let version = try store.makeVersion(basedOnPredecessor: nil, inserting: [value])
let read = try store.value(idString: "ann", at: version.id)
print(read.map { String(decoding: $0.data, as: UTF8.self) } ?? "nothing")
