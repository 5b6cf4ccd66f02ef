import ObjectStores
import Platform

/// The servers that `mount-scripts/servers` runs, as far as they do.
enum TestServers {
  static let stores: [StoreUnderTest] = []
}
