import Foundation
import TestSupport
import Testing

/// The sample programs, run as a person would.
@Suite("Samples", .timeLimit(.minutes(1)))
struct SamplesTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  @discardableResult
  private func run(_ program: String, _ arguments: String..., status: Int32 = 0) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: MountedStore.program(program))
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let text = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaint = String(
      decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == status, "\(complaint)")
    return text
  }

  @Test("TheMessage: what is posted on one device is read on another, and the newer one stays")
  func theMessage() throws {
    #expect(try run("TheMessage", "phone", "cloud") == "There is no message yet.\n")
    #expect(try run("TheMessage", "phone", "cloud", "Hello", "there") == "Hello there\n")
    #expect(try run("TheMessage", "tablet", "cloud") == "Hello there\n")
    #expect(try run("TheMessage", "tablet", "cloud", "Good bye") == "Good bye\n")
    #expect(try run("TheMessage", "phone", "cloud") == "Good bye\n")
    try run("TheMessage", status: 2)
    try run("TheMessage", "/proc/none/store", "cloud", status: 1)
  }

  @Test("LoCo: a contact that two devices changed is merged field by field")
  func loCo() throws {
    try run("LoCo", "phone", "add", "ann", "Ann")
    try run("LoCo", "phone", "add", "bob", "Bob")
    try run("LoCo", "phone", "sync", "cloud")
    try run("LoCo", "tablet", "sync", "cloud")
    try run("LoCo", "tablet", "set", "ann", "city", "Delft")
    try run("LoCo", "phone", "set", "ann", "phone", "1234")
    try run("LoCo", "phone", "remove", "bob")
    for device in ["phone", "tablet", "phone"] { try run("LoCo", device, "sync", "cloud") }
    let list = "ann\tAnn\t1234\t\t\tDelft\n"
    #expect(try run("LoCo", "phone") == list && run("LoCo", "tablet") == list)
    try run("LoCo", "phone", "set", "nobody", "city", "x", status: 1)
    try run("LoCo", "phone", "set", "ann", "age", "7", status: 2)
  }

  @Test("Notes: lines are added, replaced and found, and what is not there is told")
  func notes() throws {
    try run("Notes", "n.kvcrdt", "add", "shopping", "milk")
    try run("Notes", "n.kvcrdt", "add", "shopping", "bread")
    try run("Notes", "n.kvcrdt", "add", "todo", "call Ben")
    try run("Notes", "n.kvcrdt", "replace", "shopping", "milk", "oat milk")
    #expect(try run("Notes", "n.kvcrdt", "show", "shopping") == "oat milk\nbread\n")
    #expect(try run("Notes", "n.kvcrdt") == "shopping\ntodo\n")
    #expect(try run("Notes", "n.kvcrdt", "find", "ben") == "todo\n")
    try run("Notes", "n.kvcrdt", "show", "nothing", status: 1)
    try run("Notes", "n.kvcrdt", "replace", "shopping", "wine", "water", status: 1)
    try run("Notes", "n.kvcrdt", "keep", "shopping", "2", status: 1)
    try run("Notes", "n.kvcrdt", "eat", "shopping", status: 2)
    try run("Notes", "/proc/none/n.kvcrdt", status: 1)
  }
}
