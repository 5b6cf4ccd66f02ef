import Foundation

@testable import StoreSupport

/// Exchange folders that the original wrote, each with what the original itself reads back.
enum ExchangeFixtures {
  static let cases = [
    "criss-cross", "insert-update-remove", "keys", "linear", "merge-most-recent-branch",
    "merge-most-recent-branch-first-newer", "merge-most-recent-change", "merge-unrelated",
    "metadata", "open-heads", "random-walk", "snapshot", "values",
  ]

  static func folder(_ name: String) throws -> String {
    Bundle.module.bundlePath + "/Resources/llvs/\(name)/exchange"
  }

  static func expected(_ name: String) throws -> [String: Any] {
    let path = Bundle.module.bundlePath + "/Resources/llvs/\(name)/expected.json"
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    return try require(JSONSerialization.jsonObject(with: data) as? [String: Any])
  }
}
