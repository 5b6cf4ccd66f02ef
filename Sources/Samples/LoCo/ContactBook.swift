import Foundation
import LLVS
import LLVSModel

struct ContactBook {
  struct UnknownContact: Error, CustomStringConvertible {
    let id: String
    var description: String { "there is no contact \(id)" }
  }

  private let coordinator: StoreCoordinator

  init(store: URL) throws {
    coordinator = try StoreCoordinator(withStoreDirectoryAt: store)
    // Contacts that two devices changed are merged field by field.
    let arbiter = MergeableArbiter()
    arbiter.register(Contact.self)
    coordinator.mergeArbiter = arbiter
  }

  /// The contacts by name, each with its id.
  func all() throws -> [(id: String, contact: Contact)] {
    try coordinator.valueReferences().compactMap { reference in
      guard modelTypeIdentifier(from: reference.valueId) == Contact.modelTypeIdentifier,
        let id = instanceIdentifier(from: reference.valueId),
        let contact = try coordinator.fetchModel(Contact.self, instanceIdentifier: id)
      else { return nil }
      return (id, contact)
    }.sorted { ($0.contact.name, $0.id) < ($1.contact.name, $1.id) }
  }

  func add(_ contact: Contact, id: String) throws {
    try coordinator.save(contact, instanceIdentifier: id)
  }

  func change(_ id: String, _ body: (inout Contact) -> Void) throws {
    guard var contact = try coordinator.fetchModel(Contact.self, instanceIdentifier: id) else {
      throw UnknownContact(id: id)
    }
    body(&contact)
    try coordinator.save(contact, instanceIdentifier: id)
  }

  func remove(_ id: String) throws {
    try coordinator.removeModel(Contact.self, instanceIdentifier: id)
  }

  /// Exchanges through a folder or a remote such as `s3://BUCKET/PREFIX`, and merges.
  func sync(through place: String) async throws {
    coordinator.exchange =
      if place.contains("://") || place.hasPrefix("rclone:") {
        CloudFileSystemExchange(
          cloudFileSystem: try RemoteFileSystem(address: place), store: coordinator.store)
      } else {
        FileSystemExchange(
          rootDirectoryURL: URL(fileURLWithPath: place), store: coordinator.store)
      }
    try await coordinator.exchange()
    if try coordinator.merge() { try await coordinator.exchange() }
  }
}
