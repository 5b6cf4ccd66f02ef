// Makes versions in a store, one after the other, and prints the id of each: `librarywriter
// DIRECTORY COUNT NAME`. Tests run two of these at once, and kill some.
import Foundation
import LLVS

let arguments = CommandLine.arguments
guard arguments.count == 4, let count = Int(arguments[2]) else {
  FileHandle.standardError.write(Data("usage: librarywriter DIRECTORY COUNT NAME\n".utf8))
  exit(2)
}
let store = try Store(rootDirectoryURL: URL(fileURLWithPath: arguments[1]))
var head: Version.ID?
for number in 0..<count {
  let value = Value(idString: "\(arguments[3])/\(number % 100)", data: Data("\(number)".utf8))
  head = try store.makeVersion(basedOnPredecessor: head, storing: [.update(value)]).id
  FileHandle.standardOutput.write(Data("\(head?.rawValue ?? "")\n".utf8))
}
