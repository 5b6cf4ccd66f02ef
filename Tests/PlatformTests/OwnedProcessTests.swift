import Platform
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OwnedProcessTests {
  @Test("a program runs as long as it is held, and what it says is heard")
  func holding() throws {
    let directory = try TemporaryDirectory()
    let script = "echo $$ >\(directory.file("id")); echo ready; sleep 100"
    var held: OwnedProcess? = try OwnedProcess(
      ["/bin/sh", "-c", script], environment: SystemProcess.environment)
    let found = held?.wait(nanoseconds: 10_000_000_000) { $0.contains("ready") ? true : nil }
    #expect(found == true)
    let text = String(
      decoding: try FileSystem.read(directory.file("id"), atMost: 99), as: UTF8.self)
    let id = try #require(Int32(text.prefix { $0.isNumber }))
    #expect(SystemProcess.isRunning(id))
    held = nil
    #expect(eventually { !SystemProcess.isRunning(id) })
  }

  @Test("one that ends by itself, or that ignores being asked to, is noticed and ended")
  func endings() throws {
    let over = try OwnedProcess(["/bin/sh", "-c", "echo gone"], environment: [])
    #expect(eventually { over.isOver })
    #expect(over.said == "gone\n")
    #expect(over.wait(nanoseconds: 1_000_000_000) { _ -> Bool? in nil } == nil)
    let directory = try TemporaryDirectory()
    var stubborn: OwnedProcess? = try OwnedProcess(
      ["/bin/sh", "-c", "trap '' TERM; echo $$ >\(directory.file("id")); echo ready; sleep 100"],
      environment: SystemProcess.environment)
    _ = stubborn?.wait(nanoseconds: 10_000_000_000) { $0.contains("ready") ? true : nil }
    let text = String(
      decoding: try FileSystem.read(directory.file("id"), atMost: 99), as: UTF8.self)
    let id = try #require(Int32(text.prefix { $0.isNumber }))
    stubborn = nil
    #expect(eventually { !SystemProcess.isRunning(id) })
  }

  @Test("when the process that holds it is killed, it ends too")
  func killedHolder() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("id")
    await #expect(processExitsWith: .failure) { [path = path as String] in
      let held = try OwnedProcess(
        ["/bin/sh", "-c", "echo $$ >\(path); echo ready; sleep 100"],
        environment: SystemProcess.environment)
      _ = held.wait(nanoseconds: 10_000_000_000) { $0.contains("ready") ? true : nil }
      SystemProcess.exitAtOnce(9)
    }
    let text = String(decoding: try FileSystem.read(path, atMost: 99), as: UTF8.self)
    let id = try #require(Int32(text.prefix { $0.isNumber }))
    #expect(eventually { !SystemProcess.isRunning(id) })
  }

  @Test("a program that is not there is an error")
  func missing() throws {
    #expect(throws: SystemError.self) {
      try ChildProcess.output(of: ["/no/such"], atMost: 1, patience: 1_000_000_000)
    }
  }

  @Test("what a program writes is taken, in bounds of length and time")
  func output() throws {
    let second: UInt64 = 1_000_000_000
    let (code, bytes) = try ChildProcess.output(
      of: ["/bin/sh", "-c", "printf abc; exit 3"], atMost: 10, patience: 10 * second)
    #expect(code == 3)
    #expect(bytes == Array("abc".utf8))
    let long = #expect(throws: SystemError.self) {
      try ChildProcess.output(of: ["yes"], atMost: 1000, patience: 10 * second)
    }
    #expect(long?.errno == Errno.tooBig)
    let slow = #expect(throws: SystemError.self) {
      try ChildProcess.output(of: ["sleep", "60"], atMost: 1, patience: second / 5)
    }
    #expect(slow?.errno == Errno.timedOut)
    let given = #expect(throws: SystemError.self) {
      try ChildProcess.output(of: ["sleep", "60"], atMost: 1, patience: 10 * second) { true }
    }
    #expect(given?.errno == Errno.cancelled)
  }
}
