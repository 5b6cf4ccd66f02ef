// Notes in a KeyValueCRDT document.
//
//   Notes FILE                         lists the notes
//   Notes FILE show NAME               prints a note; all of its versions, if it has several
//   Notes FILE add NAME LINE           adds a line
//   Notes FILE replace NAME OLD NEW    replaces words
//   Notes FILE keep NAME NUMBER        keeps one of several versions
//   Notes FILE find WORDS              lists the notes that have all words
import Foundation
import KeyValueCRDT

func fail(_ text: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data("Notes: \(text)\n".utf8))
  exit(code)
}

let arguments = Array(CommandLine.arguments.dropFirst())
let usage =
  "usage: Notes FILE [show NAME|add NAME LINE|replace NAME OLD NEW|keep NAME NUMBER|find WORDS]"
guard let file = arguments.first else { fail(usage, 2) }
let rest = Array(arguments.dropFirst(2))
do {
  let book = try NoteBook(file: URL(fileURLWithPath: file))
  switch (arguments.dropFirst().first, rest.count) {
  case (nil, _):
    for (name, count) in try book.all() {
      print(count == 1 ? name : "\(name) (\(count) versions)")
    }
  case ("show", 1):
    let texts = try book.texts(of: rest[0])
    if texts.isEmpty { fail("there is no note \(rest[0])", 1) }
    for (index, text) in texts.enumerated() {
      if texts.count > 1 { print("version \(index + 1):") }
      print(text, terminator: "")
    }
  case ("add", 2): try book.add(rest[1], to: rest[0])
  case ("replace", 3):
    guard try book.replace(rest[1], in: rest[0], by: rest[2]) else {
      fail("\(rest[0]) has no \"\(rest[1])\"", 1)
    }
  case ("keep", 2):
    guard let number = Int(rest[1]), try book.keep(number, of: rest[0]) else {
      fail("\(rest[0]) has no version \(rest[1])", 1)
    }
  case ("find", 1): for name in try book.names(withWords: rest[0]) { print(name) }
  default: fail(usage, 2)
  }
} catch KeyValueCRDTError.versionConflict {
  fail("\(rest[0]) has several versions: show it, and keep one", 1)
} catch {
  fail("\(error)", 1)
}
