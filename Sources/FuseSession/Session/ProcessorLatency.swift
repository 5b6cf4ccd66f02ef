import Platform

/// Keeps processors from sleeping so deeply that waking takes longer than a request.
///
/// Waking an idle processor takes ten times as long as an answer, above all in a virtual machine, where the host is
/// involved. PM QoS forbids deep sleep while a descriptor is open (Documentation/power/pm_qos_interface.rst). Only
/// root may use it; other users get ``AdaptiveSpin``.
struct ProcessorLatency {
  static let device = "/dev/cpu_dma_latency"
  private static let driver = "/sys/devices/system/cpu/cpuidle/current_driver"

  /// The longest time for waking up, in microseconds; nil if no processor can be kept awake.
  private let limit: Int32?
  private var request: File?
  private var isRefused = false

  init() {
    let found = try? FileSystem.read(Self.driver, atMost: 64)
    let name = found.map { String(decoding: $0.prefix { $0 > 0x20 }, as: UTF8.self) }
    limit = name.flatMap(Self.limit(of:))
  }

  static func limit(of driver: String) -> Int32? {
    switch driver {
    // Without a driver no sleep state can be chosen.
    case "none", "": nil
    // Its only sleep state claims to wake in 1 us, but needs the host.
    case "haltpoll": 0
    // The shallowest sleep of a real processor (C1) is nearly as fast, and saves power.
    default: 2
    }
  }

  /// Keeps processors awake; false if that is impossible.
  mutating func hold() -> Bool {
    guard let limit, !isRefused else { return false }
    guard request == nil else { return true }
    do throws(SystemError) {
      let file = try File(Self.device, .write)
      try unsafe withUnsafeBytes(of: limit) { bytes throws(SystemError) in
        try unsafe file.write(bytes, at: 0)
      }
      request = file
      return true
    } catch {
      isRefused = true
      return false
    }
  }

  mutating func release() { request = nil }
}
