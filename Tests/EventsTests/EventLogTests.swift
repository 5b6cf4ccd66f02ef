import Events
import Platform
import TestSupport
import Testing

@Suite("The log of events", .timeLimit(.minutes(1)))
struct EventLogTests {
  private func lines(_ bytes: [UInt8]) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }

  private func rest(_ reader: inout EventReader) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let part = reader.next()
      if part.isEmpty { return bytes }
      bytes += part
    }
  }

  @Test("a reader goes on where it came to, also when the older half of the log has gone")
  func goingOn() throws {
    let directory = try TemporaryDirectory()
    let log = EventLog(directory: directory.path)
    var reader = log.reader()
    #expect(reader.next().isEmpty)
    var read: [Substring] = []
    let text = String(repeating: "x", count: 1000)
    // 5 MB: the log is cut at 4 MiB.
    for number in 0..<5000 {
      log.add("test", "\(number) \(text)")
      if number % 700 == 3 { read += lines(rest(&reader)) }
    }
    read += lines(rest(&reader))
    #expect(read.count == 5000)
    let numbers = read.compactMap { Int($0.split(separator: " ").dropFirst(2).first ?? "") }
    #expect(numbers == Array(0..<5000))
    #expect(log.size < 4 << 20)
  }

  @Test("the last lines are whole, however many are asked for")
  func lastLines() throws {
    let directory = try TemporaryDirectory()
    let log = EventLog(directory: directory.path)
    #expect(log.lastLines(3).isEmpty)
    for number in 0..<3000 { log.add("test", "\(number) \(String(repeating: "y", count: 90))") }
    for count in [1, 2, 10, 999, 3000, 5000] {
      let last = log.lastLines(count)
      #expect(last.count == min(count, 3000))
      #expect(last.last?.contains(" test 2999 ") == true)
      #expect(last.first?.contains(" test \(3000 - min(count, 3000)) ") == true)
    }
    #expect(log.lastLines(0).isEmpty)
  }
}
