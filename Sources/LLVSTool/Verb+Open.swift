import Grammar
import LLVSCore
import Platform
import TreeNames

extension Verb {
  @Sendable static func open(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...1)
    guard case .mounted(let tree, _) = try CommandTarget(line) else {
      throw ControlError(
        .notFound, "the store is not mounted; \"llvs mount\" shows its history as directories")
    }
    let site = try CommandTarget(line)
    let path = try site.path(line.bytes.first ?? Array(".".utf8))
    let place = try historyPlace(of: path, in: tree)
    let shown = FileSystem.text(place)
    if line.isJSON || line.has("print") {
      if line.isJSON {
        console.tell(json: ["ok": true, "path": ReplyBytes(place)])
      } else {
        console.tell(shown)
      }
      return .done
    }
    let known = [["xdg-open"], ["gio", "open"], ["exo-open"]]
    guard let opener = known.first(where: { SystemProcess.isInstalled($0[0]) }) else {
      throw ControlError(
        .unsupported, "no program to open directories is installed (xdg-open); it is \(shown)")
    }
    let code = try ChildProcess.run(bytes: opener.map { Array($0.utf8) } + [place])
    guard code == 0 else {
      throw ControlError(.busy, "\(opener[0]) ended with \(code); the history is \(shown)")
    }
    return .done
  }

  private static func historyPlace(of path: [UInt8], in tree: MountView) throws -> [UInt8] {
    let place = try tree.place(path)
    let versions = Array("/.llvs/versions".utf8)
    let root = Array(tree.root.utf8)
    guard !path.isEmpty, let below = tree.below(path), !below.isEmpty else {
      return root + versions
    }
    if try FileSystem.exists(place), try FileSystem.status(place).kind == .directory {
      return place + versions
    }
    let history = root + Array("/.llvs/history/".utf8) + below
    guard try FileSystem.exists(history) else {
      throw ControlError(.notFound, "no version has a file \(PrintableText.text(path))")
    }
    return history
  }
}
