import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

/// A kind of remote that the suite is run over.
struct StoreUnderTest: Sendable, CustomTestStringConvertible {
  let name: String
  /// The most lists until a change is shown.
  var lists = 1
  /// True if an interrupted put leaves a part of the object; nil if it may or may not.
  var leavesTornObjects: Bool? = .some(false)
  /// Names that this kind refuses, or takes for others.
  var refuses: @Sendable (String) -> Bool = { _ in false }
  /// Names that this kind holds and does not list.
  var hides: @Sendable (String) -> Bool = { _ in false }
  /// Opens it; `pageLength` is how many objects a page of a list has, where that can be asked for.
  let open: @Sendable (TransferControl, _ pageLength: Int) throws -> any ObjectStore

  var testDescription: String { name }

  /// All that are here, or the one that `LLVS_TEST_REMOTE` names.
  static let all: [StoreUnderTest] = {
    let all = inside + TestServers.stores
    guard let name = SystemProcess.environment("LLVS_TEST_REMOTE"), name != "list" else {
      return all
    }
    return all.filter { $0.name == name }
  }()

  /// The kinds that need no server.
  static let inside: [StoreUnderTest] = [
    StoreUnderTest(name: "memory") { MemoryStore(control: $0, pageLength: $1) },
    StoreUnderTest(name: "memory, patiently") { control, pageLength in
      RetryingStore(MemoryStore(control: control, pageLength: pageLength), control: control)
    },
    faulty("memory that fails and loses answers", lists: 1) { faults in
      faults.fails = 0.2
      faults.loses = 0.2
      faults.breaks = 0.2
      faults.shuffles = true
    },
    StoreUnderTest(
      name: "memory that tears", leavesTornObjects: true,
      open: { control, pageLength in
        var faults = StoreFaults()
        faults.tears = 0.3
        return retrying(
          FaultyStore(
            MemoryStore(control: control, pageLength: pageLength), faults, seed: 11,
            control: control),
          control)
      }),
    faulty("memory whose lists lag", lists: 8) { faults in
      faults.lag = 3
      faults.delay = 0...100_000
    },
    StoreUnderTest(name: "directory") { control, _ in
      DirectoryStore(
        path: try KeptDirectory.make(), scratch: ".llvs-outgoing-test", control: control)
    },
  ]

  private static func faulty(
    _ name: String, lists: Int, _ change: @escaping @Sendable (inout StoreFaults) -> Void
  ) -> StoreUnderTest {
    StoreUnderTest(
      name: name, lists: lists,
      open: { control, pageLength in
        var faults = StoreFaults()
        change(&faults)
        return retrying(
          FaultyStore(
            MemoryStore(control: control, pageLength: pageLength), faults, seed: 7,
            control: control),
          control)
      })
  }

  /// Tries often and waits little, as tests do.
  static func retrying(_ store: some ObjectStore, _ control: TransferControl) -> any ObjectStore {
    var limits = RemoteLimits()
    limits.attempts = 40
    limits.firstWait = 10_000
    limits.longestWait = 100_000
    return RetryingStore(store, limits: limits, control: control)
  }
}

/// Directories that last as long as the tests.
enum KeptDirectory {
  // The last reference to it goes with the process.
  private static let root = Result { try TemporaryDirectory() }

  static func make() throws -> String {
    let path = try root.get().file(SystemName.next())
    try makeDirectory(path)
    return path
  }
}
