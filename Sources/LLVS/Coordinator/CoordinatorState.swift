internal import Foundation

/// The state that a coordinator keeps in the file `Coordinator.json`, as the original does.
struct CoordinatorState: Codable, Sendable {
  var exchangeRestorationData: Data?
  var currentVersionIdentifier: Version.ID
}

extension CoordinatorState {
  /// Reads the file of a directory; nil if it is missing or unreadable.
  init?(in directory: URL) {
    guard let data = try? Data(contentsOf: CoordinatorState.file(in: directory)),
      let state = try? JSONDecoder().decode(CoordinatorState.self, from: data)
    else { return nil }
    self = state
  }

  func write(in directory: URL) throws {
    try JSONEncoder().encode(self)
      .write(to: CoordinatorState.file(in: directory), options: .atomic)
  }

  private static func file(in directory: URL) -> URL {
    directory.appendingPathComponent("Coordinator.json")
  }
}
