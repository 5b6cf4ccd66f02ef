import Glibc
import Platform
import Synchronization

/// A server of HTTP on a loopback port that answers as a test says, also as no real server should.
package final class FakeServer: Sendable {
  /// A request as it came.
  package struct Request: Sendable {
    package var method: String
    /// The path and the query, as they were sent.
    package var target: String
    /// Names in lower-case letters.
    package var headers: [String: String]
    package var body: [UInt8]

    /// The path without the query.
    package var path: String { String(target.prefix { $0 != "?" }) }
  }

  /// The response to a request, or a fault in place of one.
  package struct Answer: Sendable {
    package var status = 200
    package var headers: [(String, String)] = []
    package var body: [UInt8] = []
    /// After so many bytes of the body the connection is closed; nil for all.
    package var cut: Int?
    /// After so many bytes of the body nothing more comes; nil for never.
    package var stall: Int?
    /// The time between the bytes of the body, in nanoseconds; nil for none.
    package var pace: UInt64?
    /// The number of answers `100 Continue` before this one.
    package var interims = 0
    /// Nothing is answered at all, and the connection stays.
    package var isSilent = false
    /// The connection is closed without an answer.
    package var isDropped = false

    /// Without the ETag that a server gives for a PUT.
    package var isUntagged = false

    /// An answer.
    package init(_ status: Int = 200, _ headers: [(String, String)] = [], _ body: [UInt8] = []) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// An answer of text.
    package init(_ status: Int = 200, _ headers: [(String, String)] = [], text: String) {
      self.init(status, headers, Array(text.utf8))
    }

    /// None, for ever.
    package static var silence: Answer {
      var answer = Answer()
      answer.isSilent = true
      return answer
    }

    /// A closed connection.
    package static var closed: Answer {
      var answer = Answer()
      answer.isDropped = true
      return answer
    }
  }

  package let port: UInt16
  private let listener: Int32
  private let answer: @Sendable (Request, Int) -> Answer
  private let requests = Mutex<[Request]>([])
  private let open = Mutex<Set<Int32>>([])
  private let isOver = Atomic<Bool>(false)

  /// Starts one; `answer` is given each request and its number, from 1, on a thread of its connection.
  package init(_ answer: @escaping @Sendable (Request, Int) -> Answer) throws {
    self.answer = answer
    // 1 is SOCK_STREAM, an enumeration that the importer keeps as such.
    listener = socket(AF_INET, 1, 0)
    var address = Self.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let (socket, size) = (listener, length)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && listen(socket, 64) == 0
          && getsockname(socket, $0, &length) == 0
      }
    }
    guard bound else { throw SystemError(errno: errno, call: "bind") }
    port = UInt16(bigEndian: address.sin_port)
    try SystemThread.detach { [self] in accepting() }
  }

  static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }

  /// Ends it and its connections.
  package func stop() {
    isOver.store(true, ordering: .relaxed)
    shutdown(listener, Int32(SHUT_RDWR))
    for connection in open.withLock({ $0 }) { shutdown(connection, Int32(SHUT_RDWR)) }
  }

  /// The requests that came, in the order in which they were read.
  package var seen: [Request] { requests.withLock { $0 } }

  private func accepting() {
    while !isOver.load(ordering: .relaxed) {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { break }
      open.withLock { _ = $0.insert(connection) }
      do {
        try SystemThread.detach { [self] in serve(connection) }
      } catch {
        end(connection)
      }
    }
    close(listener)
  }

  private func end(_ connection: Int32) {
    open.withLock { _ = $0.remove(connection) }
    close(connection)
  }

  private func serve(_ connection: Int32) {
    defer { end(connection) }
    var rest: [UInt8] = []
    while let request = read(connection, &rest) {
      let number = requests.withLock { requests in
        requests.append(request)
        return requests.count
      }
      let answer = answer(request, number)
      guard !answer.isDropped else { return }
      if answer.isSilent {
        wait(connection)
        return
      }
      let interim = "HTTP/1.1 100 Continue\r\n\r\n"
      var head = String(repeating: interim, count: answer.interims)
      head += "HTTP/1.1 \(answer.status) Words\r\n"
      for (name, value) in answer.headers { head += "\(name): \(value)\r\n" }
      if !answer.headers.contains(where: { $0.0.lowercased() == "content-length" }) {
        head += "Content-Length: \(answer.body.count)\r\n"
      }
      if request.method == "PUT", answer.status < 300, !answer.isUntagged {
        head += "ETag: \"x\"\r\n"
      }
      let most = answer.cut ?? answer.stall ?? answer.body.count
      let isHead = request.method == "HEAD"
      if let pace = answer.pace {
        guard Self.send(connection, Array((head + "\r\n").utf8)) else { return }
        for byte in answer.body {
          SystemClock.sleep(nanoseconds: pace)
          guard Self.send(connection, [byte]) else { return }
        }
        continue
      }
      guard
        Self.send(
          connection, Array((head + "\r\n").utf8) + (isHead ? [] : answer.body.prefix(most)))
      else { return }
      if answer.stall != nil { wait(connection) }
      guard answer.cut == nil, answer.stall == nil else { return }
    }
  }

  /// Waits until the other side is gone, or the server is stopped.
  private func wait(_ connection: Int32) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while recv(connection, &bytes, bytes.count, 0) > 0 {}
  }

  static func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          connection, $0.baseAddress?.advanced(by: done), bytes.count - done,
          Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  private func read(_ connection: Int32, _ rest: inout [UInt8]) -> Request? {
    let end = Array("\r\n\r\n".utf8)
    var length = 0
    var head: Request?
    while true {
      if head == nil, let at = rest.firstRange(of: end) {
        let lines = String(decoding: rest[..<at.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          guard parts.count == 2 else { continue }
          headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        length = Int(headers["content-length"] ?? "0") ?? 0
        head = Request(
          method: String(words[0]), target: String(words[1]), headers: headers, body: [])
        rest.removeSubrange(..<at.upperBound)
      }
      if var request = head, rest.count >= length {
        request.body = Array(rest[..<length])
        rest.removeFirst(length)
        return request
      }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = recv(connection, &bytes, bytes.count, 0)
      guard count > 0 else { return nil }
      rest += bytes[..<count]
    }
  }
}

extension [UInt8] {
  /// The first range that holds these bytes.
  fileprivate func firstRange(of bytes: [UInt8]) -> Range<Int>? {
    guard count >= bytes.count else { return nil }
    for start in 0...(count - bytes.count) where self[start] == bytes[0] {
      if self[start..<(start + bytes.count)].elementsEqual(bytes) {
        return start..<(start + bytes.count)
      }
    }
    return nil
  }
}
