import Platform

/// Keeps processors from falling asleep so deeply that to wake them takes longer than a request.
///
/// A program that waits for an answer leaves its processor idle, and so does the thread that waits for
/// the next request. To wake an idle one takes ten times as long as to answer, above all in a virtual
/// machine, where it means a way through the host. The kernel's PM QoS interface forbids that for as
/// long as a descriptor is open (Documentation/power/pm_qos_interface.rst), so nothing of it outlives
/// this process. Only root may: others get ``AdaptiveSpin``.
struct ProcessorLatency {
  static let device = "/dev/cpu_dma_latency"
  private static let driver = "/sys/devices/system/cpu/cpuidle/current_driver"

  /// The longest that a processor may take to wake up, in microseconds; nil where none can be kept awake.
  private let limit: Int32?
  private var request: File?
  private var isRefused = false

  init() {
    let found = try? FileSystem.read(Self.driver, atMost: 64)
    let name = found.map { String(decoding: $0.prefix { $0 > 0x20 }, as: UTF8.self) }
    limit = name.flatMap(Self.limit(of:))
  }

  /// The limit for a driver of the kernel's for idle processors.
  static func limit(of driver: String) -> Int32? {
    switch driver {
    // Nothing chooses between ways to be idle.
    case "none", "": nil
    // A virtual machine: its only way to sleep says that waking takes 1 us, and takes the host's help.
    case "haltpoll": 0
    // The shallowest sleep of a real processor (C1) is as good as none and saves power.
    default: 2
    }
  }

  /// Keeps them awake; false if that cannot be done here.
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

  /// Lets them sleep again.
  mutating func release() { request = nil }
}
