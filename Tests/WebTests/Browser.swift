import Foundation
import TestSupport
import Testing

/// A headless Chromium, driven over its own protocol through two pipes.
///
/// What the page writes to the console as an error, and what its policy kept from loading, is noted:
/// a test ends with ``complaints`` being empty.
final class Browser {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The program; nil where none is installed, and tests are skipped.
  static let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  private let directory: String
  private let process = Process()
  private let commands: FileHandle
  private let replies: FileHandle
  private var unread: [UInt8] = []
  private var count = 0
  private var session: String?
  private(set) var complaints: [String] = []

  init() throws {
    directory = "/tmp/llvs-browser-\(UUID().uuidString.prefix(13))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // Named pipes, open in both directions here, so that neither side waits for the other to open.
    for name in ["in", "out"] { _ = mkfifo("\(directory)/\(name)", 0o600) }
    commands = try #require(FileHandle(forUpdatingAtPath: "\(directory)/in"))
    replies = try #require(FileHandle(forUpdatingAtPath: "\(directory)/out"))
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    // --remote-debugging-pipe: commands on descriptor 3, replies on 4, each ended by a zero byte.
    process.arguments = [
      "-c",
      """
      exec '\(Self.program ?? "false")' --headless=new --no-sandbox --disable-gpu --no-first-run \
        --disable-dev-shm-usage --disable-extensions --disable-background-networking --lang=en-GB \
        --remote-debugging-pipe --user-data-dir='\(directory)/profile' about:blank \
        3<'\(directory)/in' 4>'\(directory)/out'
      """,
    ]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    var environment = ProcessInfo.processInfo.environment
    environment["TZ"] = "UTC"
    process.environment = environment
    try process.run()
    let target = try call("Target.createTarget", ["url": "about:blank"])
    let attached = try call(
      "Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
    session = attached["sessionId"] as? String
    for domain in ["Page", "Runtime", "Log"] { try call("\(domain).enable") }
  }

  /// Ends the browser.
  func end() {
    if process.isRunning { _ = try? call("Browser.close") }
    if !eventually(seconds: 5, { !process.isRunning }) { process.terminate() }
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: directory)
  }

  // MARK: - The protocol

  /// Sends a command and returns its result.
  @discardableResult
  func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    count += 1
    var message: [String: Any] = ["id": count, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    try commands.write(contentsOf: JSONSerialization.data(withJSONObject: message) + [0])
    while true {
      let reply = try next()
      if reply["id"] as? Int == count {
        if let error = reply["error"] { throw Failure(description: "\(method): \(error)") }
        return reply["result"] as? [String: Any] ?? [:]
      }
      note(reply)
    }
  }

  private func next() throws -> [String: Any] {
    while true {
      if let end = unread.firstIndex(of: 0) {
        let text = Data(unread[..<end])
        unread.removeFirst(end + 1)
        return try JSONSerialization.jsonObject(with: text) as? [String: Any] ?? [:]
      }
      var ready = pollfd(fd: replies.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 60_000) > 0 else {
        throw Failure(description: "the browser does not answer")
      }
      unread += replies.availableData
    }
  }

  private func note(_ event: [String: Any]) {
    let parameters = event["params"] as? [String: Any] ?? [:]
    switch event["method"] as? String {
    case "Runtime.exceptionThrown": complaints.append("\(parameters)")
    case "Log.entryAdded":
      let entry = parameters["entry"] as? [String: Any] ?? [:]
      if entry["level"] as? String == "error" { complaints.append("\(entry["text"] ?? "")") }
    default: break
    }
  }

  // MARK: - The page

  /// Evaluates an expression in the page; a promise is waited for.
  @discardableResult
  func evaluate(_ expression: String) throws -> Any? {
    let reply = try call(
      "Runtime.evaluate",
      ["expression": expression, "awaitPromise": true, "returnByValue": true])
    if let details = reply["exceptionDetails"] {
      throw Failure(description: "\(expression): \(details)")
    }
    return (reply["result"] as? [String: Any])?["value"]
  }

  func text(_ expression: String) throws -> String {
    try evaluate("String(\(expression))") as? String ?? ""
  }

  /// Waits until an expression is true.
  func wait(_ expression: String, seconds: Double = 20) throws {
    let isTrue = eventually(seconds: seconds) {
      (try? evaluate("Boolean(\(expression))")) as? Bool ?? false
    }
    guard isTrue else {
      let shown = (try? text("document.body.innerText")) ?? ""
      throw Failure(description: "never true: \(expression)\n\(shown.prefix(2000))\n\(complaints)")
    }
  }

  func open(_ address: String) throws {
    try call("Page.navigate", ["url": address])
    try wait("document.querySelector('main')?.firstChild")
  }

  func go(_ hash: String) throws { try evaluate("location.hash = '\(hash)'") }

  /// Clicks the first button or link whose text is given.
  func click(_ name: String) throws {
    let found =
      "[...document.querySelectorAll('button, a')].find((one) => one.textContent.trim() === '\(name)' && one.offsetParent)"
    try wait(found)
    try evaluate("\(found).click()")
  }

  /// Presses a key, as a keyboard does.
  func press(_ key: String, _ code: Int) throws {
    for type in ["rawKeyDown", "keyUp"] {
      try call(
        "Input.dispatchKeyEvent",
        ["type": type, "key": key, "code": key, "windowsVirtualKeyCode": code])
    }
  }

  func look(width: Int, height: Int, isDark: Bool) throws {
    try call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    try call(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
  }

  /// Returns a picture of the page, as PNG.
  func picture() throws -> Data {
    let reply = try call("Page.captureScreenshot", ["format": "png"])
    return try #require(Data(base64Encoded: reply["data"] as? String ?? ""))
  }
}
