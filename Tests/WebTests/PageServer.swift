import Foundation
import TestSupport
import Testing

/// The program as it serves the page about a store, in a directory of the test's own.
final class PageServer {
  let directory: String
  let address: String
  private let process = Process()

  /// Makes a directory, runs a script there in which `llvs` is the program, and serves its store
  /// `s`.
  init(_ script: String, options: [String] = [], seconds: Int = 60) throws {
    directory = "/tmp/llvs-web-\(UUID().uuidString.prefix(13))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let result = try shell(
      "llvs() { '\(MountedStore.program)' \"$@\"; }\nset -e\n\(script)", in: directory,
      seconds: seconds)
    try #require(result.status == 0, "\(result.output)")
    let said = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["--default-signal", MountedStore.program, "web", "--store", "\(directory)/s", "--json"]
      + options
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = said
    try process.run()
    var text = ""
    while !text.contains("\n") {
      let data = said.fileHandleForReading.availableData
      guard !data.isEmpty else { break }
      text += String(decoding: data, as: UTF8.self)
    }
    let fields = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    address = try #require(fields?["url"] as? String, "\(text)")
  }

  /// Ends the server with a signal, and removes the directory.
  ///
  /// - Returns: the exit code.
  @discardableResult
  func end() -> Int32 {
    if process.isRunning {
      process.terminate()
      process.waitUntilExit()
    }
    try? FileManager.default.removeItem(atPath: directory)
    return process.terminationStatus
  }

  /// Runs a script in which `llvs` is the program, and `get PLACE` and `post PLACE BODY` ask the
  /// server.
  func run(_ script: String) throws -> String {
    let origin = address.split(separator: "/").prefix(2).joined(separator: "//")
    return try shell(
      #"""
      llvs() { '\#(MountedStore.program)' "$@"; }
      at='--store s'; address='\#(address)'; origin='\#(origin)'
      get() { local place=$1; shift; curl -sS "$@" "$address$place"; }
      post() { curl -sS -H "Origin: $origin" -d "$2" "$address$1"; }
      # Starts a command and waits for its end.
      task() {
        local id; id=$(post api/run "$1" | sed 's/.*"id":\([0-9]*\).*/\1/')
        for _ in $(seq 100); do
          get api/state | grep -q "\"ended\":{\"id\":$id," && break; sleep 0.1
        done
        get api/state | grep -o '"isDone":[a-z]*' | cut -d: -f2
      }
      \#(script)
      """#, in: directory
    ).output
  }

  /// An answer in JSON.
  func json(_ place: String) throws -> [String: Any] {
    let text = try run("get '\(place)'")
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return try #require(value, "\(text)")
  }
}

/// Scripts that make stores.
enum SampleScript {
  /// Two versions of a text, a page, a drawing, a picture and bytes.
  static let plain = #"""
    llvs init s -q; at='--store s'; mkdir -p d/sub; llvs set author=Ann machine=desk $at -q
    printf 'one\ntwo\nthree\n' > d/notes.txt; printf '<script>alert(1)</script>' > d/page.html
    printf '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><rect width="90" height="60" fill="teal"/></svg>' > d/sub/pic.svg
    printf 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' | base64 -d > d/dot.png
    printf 'a\0b' > d/bin; seq 1 3000 > d/long; printf 'x' > d/$'odd\xffname'
    llvs import d -q $at -m first; llvs tag v1 -q $at
    printf 'one\nTWO\nthree\nfour\n' > d/notes.txt; llvs import d -q $at -m second
    """#

  /// Two stores that changed the same lines, and a hub; `s` has the conflict.
  static let conflict = #"""
    llvs init s -q; at='--store s'; mkdir d hub; llvs set author=Ann machine=desk $at -q
    printf 'milk\nbread\ncheese\n' > d/list; llvs import d -q $at -m start
    llvs peer hub "$PWD/hub" -q $at; llvs sync -q $at
    llvs init t -q; bt='--store t'; llvs set author=Bob machine=laptop $bt -q
    llvs peer hub "$PWD/hub" -q $bt; llvs sync -q $bt
    printf 'milk\nrye bread\ncheese\n' > d/list; llvs import d -q $bt -m rye; llvs sync -q $bt
    printf 'milk\nwhite bread\ncheese\neggs\n' > d/list; llvs import d -q $at -m white
    llvs sync -q $at
    """#

  /// Two stores that changed two lines of a long text, and each one more line; `s` has the conflict.
  static let longConflict = #"""
    llvs init s -q; at='--store s'; mkdir d hub; llvs set author=Ann machine=desk $at -q
    seq 200 > d/list; llvs import d -q $at -m start
    llvs peer hub "$PWD/hub" -q $at; llvs sync -q $at
    llvs init t -q; bt='--store t'; llvs set author=Bob machine=laptop $bt -q
    llvs peer hub "$PWD/hub" -q $bt; llvs sync -q $bt
    seq 200 | sed 's/^50$/rye/; s/^150$/more rye/; s/^100$/Bob/' > d/list
    llvs import d -q $bt -m rye; llvs sync -q $bt
    seq 200 | sed 's/^50$/white/; s/^150$/more white/; s/^10$/Ann/' > d/list
    llvs import d -q $at -m white; llvs sync -q $at
    """#
}
