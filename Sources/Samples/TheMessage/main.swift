// One message that several devices share: the smallest program on the library.
//
//   TheMessage STORE FOLDER            prints the message, after an exchange through the folder
//   TheMessage STORE FOLDER TEXT...    posts a message, and exchanges it
import Foundation
import LLVS

struct TheMessage {
  let coordinator: StoreCoordinator
  private let messageId = Value.ID("MESSAGE")

  init(store: URL, folder: URL) throws {
    coordinator = try StoreCoordinator(withStoreDirectoryAt: store)
    coordinator.exchange = FileSystemExchange(
      rootDirectoryURL: folder, store: coordinator.store)
  }

  func post(_ message: String) throws {
    try coordinator.save(updating: [Value(id: messageId, data: Data(message.utf8))])
  }

  func message() throws -> String? {
    try coordinator.value(id: messageId).map { String(decoding: $0.data, as: UTF8.self) }
  }

  /// Brings the others' message here and this one there; of two the newer one stays.
  func sync() async throws {
    try await coordinator.exchange()
    if try coordinator.merge() { try await coordinator.exchange() }
  }
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2 else {
  FileHandle.standardError.write(Data("usage: TheMessage STORE FOLDER [TEXT...]\n".utf8))
  exit(2)
}
do {
  let program = try TheMessage(
    store: URL(fileURLWithPath: arguments[0]), folder: URL(fileURLWithPath: arguments[1]))
  if arguments.count > 2 { try program.post(arguments.dropFirst(2).joined(separator: " ")) }
  try await program.sync()
  print(try program.message() ?? "There is no message yet.")
} catch {
  FileHandle.standardError.write(Data("TheMessage: \(error)\n".utf8))
  exit(1)
}
