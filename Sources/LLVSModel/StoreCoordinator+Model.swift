internal import Foundation
public import LLVS

extension StoreCoordinator {
  /// Saves an instance on a branch.
  /// - Throws: `EncodingError`; ``Store/Error``.
  public func save<T: StorableModel>(
    _ model: T, instanceIdentifier: String, in branch: Branch? = nil
  ) throws {
    let data = try JSONEncoder().encode(model)
    let found = try stored(T.self, instanceIdentifier, on: branch)
    if let found {
      try save(updating: [Value(id: found.id, data: data)], in: branch)
    } else {
      let id = modelValueID(
        typeIdentifier: T.modelTypeIdentifier, instanceIdentifier: instanceIdentifier)
      try save(inserting: [Value(id: id, data: data)], in: branch)
    }
  }

  /// Returns an instance; nil if there is none.
  /// - Throws: `DecodingError` if the value is not of the type; ``Store/Error``.
  public func fetchModel<T: StorableModel>(
    _ type: T.Type, instanceIdentifier: String, on branch: Branch? = nil
  ) throws -> T? {
    try stored(type, instanceIdentifier, on: branch).map {
      try JSONDecoder().decode(type, from: $0.data)
    }
  }

  /// Returns all instances at a version, by default the current one, in the order of their keys.
  /// - Throws: as ``fetchModel(_:instanceIdentifier:on:)``.
  public func fetchAllModels<T: StorableModel>(
    _ type: T.Type, at version: Version.ID? = nil
  ) throws -> [T] {
    let version = version ?? currentVersion
    return try valueReferences(at: version)
      .filter { ModelKey.typeIdentifiers(in: $0.valueId).contains(type.modelTypeIdentifier) }
      .compactMap { try store.value(id: $0.valueId, at: version) }
      .map { try JSONDecoder().decode(type, from: $0.data) }
  }

  /// Removes an instance, if it exists.
  /// - Throws: ``Store/Error``.
  public func removeModel<T: StorableModel>(
    _ type: T.Type, instanceIdentifier: String, in branch: Branch? = nil
  ) throws {
    guard let found = try stored(type, instanceIdentifier, on: branch) else { return }
    try save(removing: [found.id], in: branch)
  }

  private func stored<T: StorableModel>(
    _ type: T.Type, _ instance: String, on branch: Branch?
  ) throws -> Value? {
    let name = type.modelTypeIdentifier
    let id = modelValueID(typeIdentifier: name, instanceIdentifier: instance)
    if let found = try value(id: id, on: branch) { return found }
    return try value(id: Value.ID("\(name)/\(instance)"), on: branch)
  }
}
