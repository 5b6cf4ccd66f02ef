import Foundation
import KeyValueCRDT

// Names of the app's own, which those of the library leave free.
struct Database {}
struct Row {}

let file = URL(fileURLWithPath: CommandLine.arguments[1])
let notes = try KeyValueDatabase(fileURL: file, authorDescription: "an app")
try notes.writeText("Ann", to: "name")
print(try notes.read(key: "name").text ?? "nothing")
