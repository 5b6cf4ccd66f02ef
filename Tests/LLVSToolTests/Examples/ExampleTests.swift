import Foundation
import TestSupport
import Testing

/// Runs the examples of README and of the pages as somebody would who follows them.
///
/// The commands of a page run one after the other in one shell, in an empty home directory.
@Suite("Examples of the documents", .timeLimit(.minutes(5)))
struct ExampleTests {
  /// The pages that have examples, as paths in the repository.
  static let pages: [String] = {
    let catalog = "Sources/llvs/llvs.docc"
    let found = FileManager.default.enumerator(atPath: root.appendingPathComponent(catalog).path)
    let names = (found?.allObjects ?? []).compactMap { $0 as? String }.filter {
      $0.hasSuffix(".md")
    }
    return (["README.md"] + names.sorted().map { "\(catalog)/\($0)" }).filter {
      !ConsoleBlock.blocks(of: text($0)).isEmpty
    }
  }()

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static func text(_ page: String) -> String {
    (try? String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)) ?? ""
  }

  @Test("README has examples")
  func readmeHasExamples() {
    #expect(Self.pages.first == "README.md")
  }

  @Test(
    "every command prints what the page says", .enabled(if: MountedStore.isPossible),
    arguments: pages)
  func printsWhatThePageSays(page: String) throws {
    let steps = ConsoleBlock.blocks(of: Self.text(page)).flatMap(\.steps)
    let tool = try Tool()
    let home = tool.directory.path + "/home"
    let outputs = try run(steps, home: home, tool)
    for (step, output) in zip(steps, outputs) {
      let printed =
        output.isEmpty
        ? [] : output.replacing(home, with: "/home/ann").components(separatedBy: "\n")
      if !ExampleOutput.matches(printed, step.expected) {
        let place = "\(page):\(step.line): $ \(step.command)"
        let said = step.expected.joined(separator: "\n")
        let does = printed.joined(separator: "\n")
        Issue.record("\(place)\nThe page says:\n\(said)\nIt prints:\n\(does)")
      }
    }
    #expect(outputs.count == steps.count, "\(page): the shell ended early: \(outputs.last ?? "")")
  }

  /// Runs the commands and returns what each printed, both streams together.
  private func run(_ steps: [ConsoleBlock.Step], home: String, _ tool: Tool) throws -> [String] {
    let mark = "<<step>>"
    let commands = steps.map { "{ \($0.command)\n} 2>&1\nprintf '\\n\(mark)\\n'" }
    let script = """
      exec </dev/null
      mkdir -p '\(home)' '\(home)/../bin'
      ln -s '\(MountedStore.program)' '\(MountedStore.program("Notes"))' '\(home)/../bin/'
      unset LLVS_STORE LLVS_PAGER PAGER
      export HOME='\(home)' PATH='\(tool.directory.path)/bin':"$PATH" TZ=UTC LC_ALL=C.UTF-8 COLUMNS=100
      # What an example leaves mounted is unmounted, also where it failed.
      trap 'cd /; for m in "$HOME"/*/; do llvs unmount --force "$m" >/dev/null 2>&1; done' EXIT
      cd
      \(commands.joined(separator: "\n"))
      """
    let output = try tool.run(script).output
    let parts = output.components(separatedBy: "\n\(mark)\n")
    return parts.dropLast().map { $0.hasSuffix("\n") ? String($0.dropLast()) : $0 }
  }

  @Test("an output that is not what the page says is found")
  func findsFaults() {
    #expect(ExampleOutput.matches(["a", "b"], ["a", "b"]))
    #expect(!ExampleOutput.matches(["a", "b"], ["a"]))
    #expect(!ExampleOutput.matches(["a"], ["a", "b"]))
    #expect(ExampleOutput.matches(["a", "x", "y", "b"], ["a", "...", "b"]))
    #expect(!ExampleOutput.matches(["a", "x"], ["a", "...", "b"]))
    #expect(ExampleOutput.matches(["3 files, 12 kB"], ["3 files, …"]))
    #expect(!ExampleOutput.matches(["4 files, 12 kB"], ["3 files, …"]))
    #expect(
      ExampleOutput.matches(
        ["2026-11-24T101210.123Z-3E6CA7EA 10:12"], ["2025-01-01T000000.000Z-00000000 23:59"]))
    #expect(!ExampleOutput.matches(["2026-11-24T101210.123Z-3E6CA7EA"], ["todo.txt"]))
  }
}
