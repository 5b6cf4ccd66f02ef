import Glibc

/// Why a check did not pass.
struct Failed: Error, CustomStringConvertible {
  var description: String
}

/// Why a check could not be made here.
struct Skipped: Error {
  var reason: String
}

/// What a file system may leave out. Where it must not (`--must`), its absence fails, else the checks of it are
/// skipped and say so.
enum Feature: String, CaseIterable {
  case fallocate
  case direct
  /// Access control lists.
  case acl
  /// Handles that open a file by its number.
  case handles
  /// Of subdirectories, in the links of a directory.
  case counts

  nonisolated(unsafe) static var required: Set<Feature> = []

  /// The result of a call that fails with an errno where this is left out.
  @discardableResult
  func needed(_ absent: Int32, _ result: Int, line: UInt = #line) throws -> Int {
    if result < 0, errno == absent, !Self.required.contains(self) {
      throw Skipped(reason: "there is no \(rawValue)")
    }
    return try ok(result, rawValue, line: line)
  }
}

/// One promise of the system's manual, by name.
struct Check {
  var name: String
  var body: (Place) throws -> Void
}

/// All checks, in the order in which they were added.
struct Suite {
  private(set) var checks: [Check] = []

  /// Adds a check; its name says what is promised.
  mutating func check(_ name: String, _ body: @escaping (Place) throws -> Void) {
    checks.append(Check(name: name, body: body))
  }
}

/// The count of each outcome.
struct Outcome {
  var passed = 0
  var failed = 0
  var skipped = 0
}

/// The check that is being made, for the alarm that ends a hanging one.
nonisolated(unsafe) private var current: UnsafeMutablePointer<CChar>?

/// Makes every check in a directory of its own.
struct Runner {
  let root: String
  let only: [String]
  let isVerbose: Bool
  /// Seconds that one check may take.
  private static let limit: UInt32 = 60

  func run(_ suite: Suite) -> Outcome {
    var outcome = Outcome()
    var reasons: [String: Int] = [:]
    signal(SIGALRM) { _ in
      guard let current else { _exit(3) }
      _ = write(2, "hangs: ", 7)
      _ = write(2, current, strlen(current))
      _ = write(2, "\n", 1)
      _exit(3)
    }
    for (index, check) in suite.checks.enumerated() {
      guard only.isEmpty || only.contains(where: { check.name.contains($0) }) else { continue }
      free(current)
      current = strdup(check.name)
      let place = Place(path: "\(root)/\(index)")
      alarm(Self.limit)
      do {
        try place.make()
        defer { place.clear() }
        try check.body(place)
        outcome.passed += 1
        if isVerbose { print("ok      \(check.name)") }
      } catch let skip as Skipped {
        outcome.skipped += 1
        reasons[skip.reason, default: 0] += 1
        if isVerbose { print("skipped \(check.name): \(skip.reason)") }
      } catch {
        outcome.failed += 1
        print("FAILED  \(check.name): \(error)")
      }
      alarm(0)
    }
    for (reason, count) in reasons.sorted(by: { $0.key < $1.key }) {
      print("skipped \(count): \(reason)")
    }
    return outcome
  }
}
