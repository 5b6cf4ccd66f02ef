import Control
import Foundation
import Grammar
import LLVSCore
import Platform
import Reports
import TreeNames

extension Verb {
  @Sendable static func space(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...1)
    let site = try CommandTarget(line)
    let store = try site.reader()
    let path = try line.bytes.first.map { try site.path($0) } ?? site.shownPaths.first ?? []
    let most = try line.number("count") ?? 20
    let report = try SpaceReport(of: store, below: path, showing: most) { done, total in
      console.progress(CommandProgress("reading versions", done: done, total: total))
    }
    guard !path.isEmpty, report.paths.isEmpty else {
      let peers = try store.peers().map { PeerSpace($0) }
      let forgettable = try store.forgettableBytes()
      console.tell(
        line, text(report, path, most, peers, forgettable),
        json: json(report, most, peers, forgettable))
      return .done
    }
    throw ControlError(.notFound, "no version has anything at \(PrintableText.text(path))")
  }

  private static func text(
    _ report: SpaceReport, _ path: [UInt8], _ most: Int, _ peers: [PeerSpace],
    _ forgettable: UInt64?
  ) -> String {
    var lines = [
      "\(ByteCount.text(report.total)) on disk for \(PrintableText.count(report.versions, "version")), whose files "
        + "are \(ByteCount.text(report.contents)) whole: each content once, before compression and sharing.",
      "", "On disk:",
    ]
    for part in report.parts where part.bytes > 0 {
      lines.append("  \(ByteCount.column(part.bytes))  \(part.meaning)")
    }
    lines += forgotten(report, forgettable)
    if !report.largest.isEmpty {
      lines += ["", "The versions that brought most, whole:"]
      for item in report.largest.prefix(most) {
        lines.append("  \(ByteCount.column(item.bytes))  \(item.version.name)")
      }
    }
    if !report.paths.isEmpty {
      let place = path.isEmpty ? "" : " in \(PrintableText.text(path))"
      let hasGone = report.paths.contains { $0.forgotten > 0 }
      lines += [
        "",
        "Files\(place) whole: in all versions, \(hasGone ? "forgotten of these, " : "")and in head:",
      ]
      for item in report.paths.prefix(most) {
        let name = PrintableText.text(item.path) + (item.isDirectory ? "/" : "")
        let gone = hasGone ? "  \(ByteCount.column(item.forgotten))" : ""
        lines.append(
          "  \(ByteCount.column(item.inHistory))\(gone)  \(ByteCount.column(item.inHead))  \(name)")
      }
      if report.paths.count > most { lines.append("  ... and \(report.paths.count - most) more") }
    }
    if !report.months.isEmpty {
      lines += ["", "On disk, what versions brought and is still there, by month:"]
      for item in report.months.suffix(most) {
        let gone = item.forgotten > 0 ? ", \(item.forgotten) of them forgotten" : ""
        lines.append(
          "  \(ByteCount.column(item.bytes))  \(item.month), "
            + PrintableText.count(item.versions, "version") + gone)
      }
    }
    if !peers.isEmpty {
      lines += ["", "On disk at peers:"]
      for peer in peers {
        let text = peer.bytes.map { ByteCount.column($0) } ?? ByteCount.unknown
        lines.append("  \(text)  \(peer.name)" + (peer.fault.map { ": \($0)" } ?? ""))
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func forgotten(
    _ report: SpaceReport, _ forgettable: UInt64?
  ) -> [String] {
    var lines: [String] = []
    if report.forgotten.versions > 0 {
      let versions = PrintableText.count(report.forgotten.versions, "version")
      // A version that came without its bytes never had any here.
      let bytes = report.forgotten.bytes
      lines.append(
        "\(versions) forgotten" + (bytes > 0 ? ", which had \(ByteCount.text(bytes)) on disk" : ""))
    }
    if let bytes = forgettable, bytes > 0 {
      lines.append("\"llvs compact\" would free \(ByteCount.text(bytes))")
    }
    return lines.isEmpty ? [] : [lines.joined(separator: "; ") + "."]
  }

  private static func json(
    _ report: SpaceReport, _ most: Int, _ peers: [PeerSpace], _ forgettable: UInt64?
  ) -> ReplyValue {
    [
      "ok": true, "bytes": report.total,
      "parts": ReplyValue.record(report.parts.map { ReplyField($0.name, $0.bytes.reply) }),
      "versions": report.versions, "contentBytes": report.contents,
      "forgottenVersions": report.forgotten.versions, "forgottenBytes": report.forgotten.bytes,
      "forgettableBytes": forgettable,
      "months": report.months.map {
        [
          "month": $0.month, "versions": $0.versions, "forgottenVersions": $0.forgotten,
          "bytes": $0.bytes, "forgottenBytes": $0.forgottenBytes,
        ] as ReplyValue
      },
      "largestVersions": ReplyValue.list(
        report.largest.prefix(most).map { ["version": $0.version.name, "bytes": $0.bytes] }),
      "paths": ReplyValue.list(
        report.paths.map {
          [
            "path": ReplyBytes($0.path), "directory": $0.isDirectory, "headBytes": $0.inHead,
            "historyBytes": $0.inHistory, "forgottenBytes": $0.forgotten,
          ]
        }),
      "peers": ReplyValue.list(
        peers.map { ["peer": $0.name, "bytes": $0.bytes, "reason": $0.fault] }),
    ]
  }
}

private struct PeerSpace {
  let name: String
  let bytes: UInt64?
  let fault: String?

  init(_ peer: Peer) {
    name = peer.name
    do {
      guard let path = try PeerAddress(peer.address).directoryPath else {
        throw ControlError(.unsupported, "what is on a server is not counted")
      }
      guard try FileSystem.exists(path) else {
        throw ControlError(.unreachable, "\(path) is not there")
      }
      bytes = try DirectorySize(of: Array(path.utf8)).bytes
      fault = nil
    } catch {
      bytes = nil
      fault = Failure(error).message
    }
  }
}
