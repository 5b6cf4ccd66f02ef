import ObjectStoreSupport
import Platform
import TestSupport
import Testing

extension Machines {
  /// Random lives of three machines that sync through a bad network, and whose daemons are killed.
  ///
  /// `LLVS_TEST_NETWORK` says how many seeds live with each server, for 200 syncs each. The servers are one in this
  /// process, and those of S3 and WebDAV that `LLVS_TEST_SERVERS` names.
  @Suite(.serialized, .timeLimit(.minutes(60))) struct BadNetworkTests {
    private static let seeds: [UInt64] = {
      if let seed = UInt64(SystemProcess.environment("LLVS_TEST_SEED") ?? "") { return [seed] }
      return (0..<(Int(SystemProcess.environment("LLVS_TEST_NETWORK") ?? "") ?? 1)).map {
        UInt64($0)
      }
    }()

    private static let syncs = SystemProcess.environment("LLVS_TEST_NETWORK") == nil ? 20 : 200

    @Test(
      "whatever a network does to requests, three machines and a clone are equal once it is honest",
      arguments: BadNetwork.servers, seeds)
    func live(_ server: BadNetwork.Server, _ seed: UInt64) throws {
      let network = try BadNetwork(server, seed: seed)
      defer { network.tearDown() }
      do {
        for _ in 0..<Self.syncs { try network.step() }
        try network.end()
      } catch {
        Issue.record("seed \(seed): \(error)\n\(network.log.suffix(60).joined(separator: "\n"))")
      }
    }
  }
}
