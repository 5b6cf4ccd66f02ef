package import LLVSCore
import Platform

/// Serves the page about a store on the loopback address, until it is stopped.
/// - Concurrency: any thread.
package final class WebServer: Sendable {
  private let service: WebService
  private let listener: WebListener
  /// The address of the page, with its token.
  package let address: String

  /// Serves on a port, 0 for a free one; nil if the port is in use or listening is impossible.
  package init?(
    _ store: Store, _ commands: WebCommands, _ options: WebService.Options, port: UInt16 = 0
  ) {
    let token = SystemRandom.hex(24)
    // No request is accepted before the port is known: no host is "127.0.0.1:0".
    service = WebService(store, commands, options, gate: Gate(token: token, port: 0))
    guard let listener = WebListener(port: port, service) else { return nil }
    self.listener = listener
    let gate = Gate(token: token, port: listener.port)
    service.move(to: gate)
    address = gate.address
  }

  package func stop() {
    service.close()
    listener.stop()
  }
}
