import Foundation
import Testing

@testable import Platform

@Suite struct SignalTests {
  @Test(
    "Only signals that tell to stop count, of the thread or its process, and none that is blocked",
    arguments: [
      ("0", "0", "0", false), ("0", "10000", "0", false), ("8000000", "0", "0", false),
      ("0", "2", "0", true), ("4000", "0", "0", true), ("100", "10000", "0", true),
      ("0", "2", "2", false), ("0", "2003", "1", true),
    ])
  func masks(_ own: String, _ shared: String, _ blocked: String, _ isAsked: Bool) {
    let text = "Name:\tsh\nSigQ:\t0/95\nSigPnd:\t\(own)\nShdPnd:\t\(shared)\nSigBlk:\t\(blocked)\n"
    #expect(SystemProcess.isAskedToEnd(status: Array(text.utf8)) == isAsked)
  }

  @Test("A thread that nothing asks is not asked, and of one that is not there nothing is known")
  func threads() {
    #expect(SystemProcess.isAskedToEnd(thread: getpid()) == false)
    #expect(SystemProcess.isAskedToEnd(thread: 0) == nil)
    #expect(SystemProcess.isAskedToEnd(thread: .max) == nil)
    #expect(SystemProcess.isAskedToEnd(status: Array("State: S".utf8)) == nil)
  }
}
