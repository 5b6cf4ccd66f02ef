import LLVSCore
import Platform
import TestSupport

struct MissingFixture: Error {}

func require<Value>(_ value: Value?) throws -> Value {
  guard let value else { throw MissingFixture() }
  return value
}

/// An empty folder, and room for the stores that meet there.
struct ExchangePlace {
  let directory: TemporaryDirectory
  let folder: String

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("x")
    try FileSystem.makeDirectory(folder)
  }

  func store(_ name: String) throws -> Store {
    try Store.open(path: directory.file(name), mode: .writer, create: true)
  }
}
