// A book of contacts.
//
//   LoCo STORE                        lists the contacts
//   LoCo STORE add ID NAME...         adds one
//   LoCo STORE set ID FIELD TEXT...   changes a field: name, phone, email, street or city
//   LoCo STORE remove ID              removes one
//   LoCo STORE sync PLACE             exchanges with other devices through a folder or a remote, such
//                                     as s3://BUCKET/PREFIX, and merges
import Foundation
import LLVS
import LLVSModel

func fail(_ text: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data("LoCo: \(text)\n".utf8))
  exit(code)
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard let store = arguments.first else { fail("usage: LoCo STORE [add|set|remove|sync ...]", 2) }
let rest = Array(arguments.dropFirst(2))
do {
  let book = try ContactBook(store: URL(fileURLWithPath: store))
  switch (arguments.dropFirst().first, rest.count) {
  case (nil, _):
    for (id, contact) in try book.all() {
      let parts = [
        id, contact.name, contact.phone, contact.email, contact.address.street,
        contact.address.city,
      ]
      print(parts.joined(separator: "\t"))
    }
  case ("add", 2...):
    try book.add(Contact(name: rest.dropFirst().joined(separator: " ")), id: rest[0])
  case ("set", 3...):
    guard let field = Contact.field(rest[1]) else {
      fail("\(rest[1]) is none of \(Contact.fields.joined(separator: ", "))", 2)
    }
    try book.change(rest[0]) { $0[keyPath: field] = rest.dropFirst(2).joined(separator: " ") }
  case ("remove", 1): try book.remove(rest[0])
  case ("sync", 1): try await book.sync(through: rest[0])
  default: fail("usage: LoCo STORE [add ID NAME|set ID FIELD TEXT|remove ID|sync PLACE]", 2)
  }
} catch {
  fail("\(error)", 1)
}
