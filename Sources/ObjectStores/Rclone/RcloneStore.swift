internal import Foundation
internal import Platform

/// A remote of rclone: Google Drive, OneDrive, Box, SFTP and some sixty more.
package final class RcloneStore: ObjectStore {
  private struct Item: Decodable {
    var Name: String
    var Size: Int64
    var ModTime: String?
    var IsDir: Bool
  }

  private struct List: Decodable { var list: [Item]? }
  private struct Found: Decodable { var item: Item? }
  private struct Info: Decodable {
    struct Features: Decodable {
      var Move: Bool?
      var Copy: Bool?
    }
    var Features: Features
  }
  private struct Failure: Decodable { var error: String? }

  private let place: String
  private let process: RcloneProcess
  private let authorization: String
  private let client: HTTPClient
  private let control: TransferControl
  package let capabilities: StoreCapabilities
  private static let longestList = 1 << 26

  /// Starts rclone, found as execvp(3) finds it, and queries the features of the remote.
  /// - Throws: ``RemoteError`` with `unsupported` if rclone is not installed, `noPlace` for an unknown remote.
  package init(
    _ place: String, program: String = "rclone", limits: RemoteLimits, control: TransferControl
  ) throws(RemoteError) {
    guard !place.contains("]") else {
      throw RemoteError(.invalid, "rclone serves no path with a ] in it")
    }
    try control.check()
    self.place = place
    self.control = control
    let process = try RcloneProcess(program: program, control: control)
    self.process = process
    authorization =
      "Basic " + Data("\(process.user):\(process.password)".utf8).base64EncodedString()
    var settings = HTTPClient.Settings(limits: limits)
    settings.socket = process.socket
    settings.usesProxies = false
    client = HTTPClient(settings, control: control)
    let (client, authorization) = (client, authorization)
    try process.wait(control: control) { () throws(RemoteError) in
      _ = try Self.call("rc/noop", [:], process.origin, authorization, client, object: place)
    }
    let answer = try Self.call(
      "operations/fsinfo", ["fs": place], process.origin, authorization, client, object: place)
    let info = try Self.decoded(Info.self, answer, object: place)
    // Without either, rclone would download the bytes and upload them again.
    let moves = info.Features.Move == true || info.Features.Copy == true
    capabilities = moves ? [.move] : []
  }

  private static func call(
    _ method: String, _ input: [String: Any], _ origin: String, _ authorization: String,
    _ client: HTTPClient, object: String
  ) throws(RemoteError) -> HTTPResponse {
    guard let body = try? JSONSerialization.data(withJSONObject: input) else {
      throw RemoteError(.invalid, "a name that JSON cannot hold", object: object)
    }
    var request = HTTPRequest(
      method: "POST", url: "\(origin)/\(method)",
      headers: [
        (name: "Authorization", value: authorization),
        (name: "Content-Type", value: "application/json"),
      ], body: .bytes([UInt8](body)), object: object)
    request.bound = longestList
    let response = try client.send(request)
    guard response.status == 200 else { throw error(response, object) }
    return response
  }

  private func call(
    _ method: String, _ input: [String: Any], object: String
  ) throws(RemoteError) -> HTTPResponse {
    try Self.call(method, input, process.origin, authorization, client, object: object)
  }

  private static func decoded<Answer: Decodable>(
    _ type: Answer.Type, _ response: HTTPResponse, object: String
  ) throws(RemoteError) -> Answer {
    do {
      return try JSONDecoder().decode(type, from: Data(response.body))
    } catch {
      throw RemoteError(.malformed, "rclone's answer makes no sense", object: object)
    }
  }

  /// Translates a failure of rclone by its words, because its status is usually 500.
  private static func error(_ response: HTTPResponse, _ object: String) -> RemoteError {
    let failure = try? JSONDecoder().decode(Failure.self, from: Data(response.body))
    let said = failure?.error ?? response.text
    let lower = said.lowercased()
    func has(_ words: String...) -> Bool { words.contains { lower.contains($0) } }
    func error(_ kind: RemoteError.Kind, _ words: String) -> RemoteError {
      RemoteError(
        kind, "\(words): \(HTTPStatusError.shown(said))", object: object, status: response.status)
    }
    if response.status == 404 || has("object not found", "directory not found") {
      return error(.absent, "not there")
    }
    if has("didn't find section in config file", "didn't find backend called") {
      return error(.noPlace, "rclone knows no such remote; \"rclone config\" makes one")
    }
    if has("no space left", "quota", "insufficient storage", "storage full", "507") {
      return error(.noSpace, "the remote has no room left")
    }
    if has("name too long") { return error(.invalid, "the name is too long for the remote") }
    if has("permission denied", "forbidden", "unauthorized", "access denied", "accessdenied") {
      return error(.denied, "the remote does not allow that")
    }
    return HTTPStatusError.error(response, object, said)
  }

  package func prepare(_ folders: [String]) throws(RemoteError) {
    for folder in [""] + folders {
      _ = try call(
        "operations/mkdir", ["fs": place, "remote": folder], object: folder.isEmpty ? place : folder
      )
    }
  }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    let response: HTTPResponse
    do throws(RemoteError) {
      response = try call(
        "operations/list",
        [
          "fs": place, "remote": prefix.folder,
          "opt": ["filesOnly": true, "noMimeType": true],
          // Otherwise some clouds get one more request for each object.
          "_config": ["UseServerModTime": true],
        ], object: "\(prefix)")
    } catch  where error.kind == .absent {
      return ListPage(objects: [])
    }
    let found = try Self.decoded(List.self, response, object: "\(prefix)").list ?? []
    // Google Drive allows two objects with one name: the longer one is whole.
    var objects: [ObjectName: ListedObject] = [:]
    for item in found where !item.IsDir && item.Size >= 0 {
      guard let name = prefix.name(of: item.Name), after.map({ name > $0 }) ?? true,
        UInt64(item.Size) >= objects[name]?.length ?? 0
      else { continue }
      objects[name] = ListedObject(
        name: name, length: UInt64(item.Size), modified: item.ModTime.flatMap(ServerTime.iso))
    }
    return ListPage(objects: Array(objects.values))
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    let path = "[\(place)]/\(name.text)"
    let request = HTTPRequest(
      method: "GET", url: process.origin + "/" + PercentCoding.encode(path, keepingSlashes: true),
      headers: RangeFilter.headers(range) + [(name: "Authorization", value: authorization)],
      object: name.text)
    do throws(RemoteError) {
      return try RangeFilter.run(range, into: sink) { (take) throws(RemoteError) in
        let response = try client.send(request, into: take)
        guard [200, 206, 416].contains(response.status) else {
          throw Self.error(response, name.text)
        }
      }
    } catch {
      // For a range behind the end, some remotes of rclone report that the object does not exist.
      guard error.kind == .absent, let range, range.lowerBound > 0, try isThere(name) else {
        throw error
      }
      return 0
    }
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    try control.check()
    guard body.length > 0 else {
      // Some clouds accept no empty objects, others lose them.
      try body.reader().start()
      throw RemoteError(.invalid, "an object of rclone's is never empty", object: name.text)
    }
    let boundary = "llvs-\(SystemRandom.hex(16))"
    let quoted = name.last.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
    let before =
      "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(String(quoted))\""
      + "\r\nContent-Type: application/octet-stream\r\n\r\n"
    let query = "fs=\(PercentCoding.encode(place))&remote=\(PercentCoding.encode(name.folder))"
    var request = HTTPRequest(
      method: "POST", url: "\(process.origin)/operations/uploadfile?\(query)",
      headers: [
        (name: "Authorization", value: authorization),
        (name: "Content-Type", value: "multipart/form-data; boundary=\(boundary)"),
      ], object: name.text)
    request.body = .wrapped(Array(before.utf8), body, Array("\r\n--\(boundary)--\r\n".utf8))
    let response = try client.send(request)
    guard response.status == 200 else { throw Self.error(response, name.text) }
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    do throws(RemoteError) {
      _ = try call(
        "operations/deletefile", ["fs": place, "remote": name.text], object: name.text)
    } catch  where error.kind == .absent {
    }
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try control.check()
    guard capabilities.contains(.move) else {
      throw RemoteError(.unsupported, "this remote of rclone's cannot move", object: name.text)
    }
    // rclone would replace an existing object: of two concurrent moves, one may win.
    guard try !isThere(target) else {
      throw RemoteError(.exists, "the name is taken", object: target.text)
    }
    _ = try call(
      "operations/movefile",
      ["srcFs": place, "srcRemote": name.text, "dstFs": place, "dstRemote": target.text],
      object: name.text)
  }

  private func isThere(_ name: ObjectName) throws(RemoteError) -> Bool {
    do throws(RemoteError) {
      let response = try call(
        "operations/stat", ["fs": place, "remote": name.text], object: name.text)
      return try Self.decoded(Found.self, response, object: name.text).item != nil
    } catch  where error.kind == .absent {
      return false
    }
  }
}
