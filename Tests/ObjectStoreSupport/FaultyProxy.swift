import Foundation
import Glibc
import Platform
import Synchronization
import TestSupport

/// A proxy in front of a server on this machine. It delays, refuses, loses and shortens answers by chance.
package final class FaultyProxy: Sendable {
  private enum Fault: CaseIterable {
    /// The answer is late.
    case delay
    /// The connection is closed before the server gets the request, at once or after a silence.
    case reset, stall
    /// The server does what it is asked to, and the answer is lost.
    case lose
    case cut
    /// A list lacks some of its entries.
    case shorten
    /// Another machine answers: a proxy that is busy, a login page, one that asks who it is.
    case busy, portal, deny
  }

  private struct State {
    var random: SeededRandom
    /// The share of requests with a fault.
    var share = 0.0
    var faults = 0
  }

  private let state: Mutex<State>
  private let server = Mutex<FakeServer?>(nil)
  private let target: UInt16

  package var port: UInt16 { server.withLock { $0?.port ?? 0 } }
  package var faults: Int { state.withLock { $0.faults } }

  /// Starts one that passes on all requests and answers unchanged.
  package init(to target: UInt16, seed: UInt64) throws {
    self.target = target
    state = Mutex(State(random: SeededRandom(seed: seed)))
    let server = try FakeServer { [weak self] request, _ in self?.answer(request) ?? .closed }
    self.server.withLock { $0 = server }
  }

  /// Gives a share of requests a fault from now on.
  package func fail(_ share: Double) { state.withLock { $0.share = share } }

  package func stop() { server.withLock { $0 }?.stop() }

  private func pick(_ range: Range<Int>) -> Int {
    state.withLock { Int.random(in: range, using: &$0.random) }
  }

  private func nextFault() -> Fault? {
    state.withLock { state in
      guard Double.random(in: 0..<1, using: &state.random) < state.share else { return nil }
      state.faults += 1
      return Fault.allCases.randomElement(using: &state.random)
    }
  }

  private func answer(_ request: FakeServer.Request) -> FakeServer.Answer {
    let fault = nextFault()
    switch fault {
    case .reset: return .closed
    case .stall:
      SystemClock.sleep(nanoseconds: UInt64(pick(500..<2000)) * 1_000_000)
      return .closed
    case .busy: return .init(503, pick(0..<2) == 0 ? [("Retry-After", "1")] : [])
    case .deny: return .init(401, [("WWW-Authenticate", "Basic realm=\"hotel\"")])
    case .portal:
      var answer = FakeServer.Answer(
        200, [("Content-Type", "text/html")], text: "<html>Welcome to the hotel</html>")
      answer.isUntagged = true
      return answer
    case .delay: SystemClock.sleep(nanoseconds: UInt64(pick(1..<300)) * 1_000_000)
    case .lose, .cut, .shorten, nil: break
    }
    var answer = passOn(request)
    switch fault {
    case .lose: return .closed
    case .cut where !answer.body.isEmpty: answer.cut = pick(0..<answer.body.count)
    case .shorten: answer.body = shortened(answer.body)
    default: break
    }
    return answer
  }

  /// Returns a list without some of its entries; other bodies as they are.
  private func shortened(_ body: [UInt8]) -> [UInt8] {
    let text = String(decoding: body, as: UTF8.self)
    for (end, first) in [("</Contents>", "<Contents>"), ("</D:response>", "<D:response>")]
    where text.contains(end) {
      let parts = text.components(separatedBy: end)
      var kept = ""
      for (index, part) in parts.dropLast().enumerated() {
        // The first entry of WebDAV is the folder itself.
        guard !(index == 0 && first.hasPrefix("<D")), pick(0..<3) == 0,
          let start = part.range(of: first)
        else {
          kept += part + end
          continue
        }
        kept += part[..<start.lowerBound]
      }
      return Array((kept + (parts.last ?? "")).utf8)
    }
    return body
  }

  /// Sends a request to the server, and returns the answer; a closed connection if there is none.
  private func passOn(_ request: FakeServer.Request) -> FakeServer.Answer {
    // 1 is SOCK_STREAM.
    let connection = socket(AF_INET, 1, 0)
    defer { close(connection) }
    var address = FakeServer.loopback(port: target)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(connection, $0, length) == 0
      }
    }
    // An answer of HTTP/1.0 ends with its connection, and has no chunks.
    var head = "\(request.method) \(request.target) HTTP/1.0\r\n"
    for (name, value) in request.headers where name != "connection" {
      head += "\(name): \(value)\r\n"
    }
    guard isConnected, FakeServer.send(connection, Array((head + "\r\n").utf8) + request.body)
    else {
      return .closed
    }
    var bytes = Data()
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    var lines: [String] = []
    var (start, wanted) = (0, Int.max)
    while bytes.count < wanted {
      let count = recv(connection, &piece, piece.count, 0)
      guard count > 0 else { break }
      bytes += piece[..<count]
      guard lines.isEmpty, let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { continue }
      lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        .components(separatedBy: "\r\n")
      start = end.upperBound
      for line in lines where line.lowercased().hasPrefix("content-length:") {
        wanted = start + (Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) ?? 0)
      }
    }
    guard !lines.isEmpty else { return .closed }
    let words = lines[0].split(separator: " ")
    guard words.count > 1, let status = Int(words[1]) else { return .closed }
    var answer = FakeServer.Answer(status, [], Array(bytes[start...]))
    answer.isUntagged = true
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2,
        !["connection", "content-length"].contains(parts[0].lowercased())
      else { continue }
      answer.headers.append((String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)))
    }
    return answer
  }
}
