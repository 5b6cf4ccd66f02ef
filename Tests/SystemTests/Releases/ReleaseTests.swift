import Foundation
import TestSupport
import Testing

/// Stores and remotes of released programs.
///
/// `Fixtures/make` makes them: a store with files of all kinds, patches, branches, a conflict and changes that are in
/// no version, a store with forgotten versions, three forms of remotes and a document.
@Suite struct ReleaseTests {
  private static let fixtures = Bundle.module.resourceURL?.appendingPathComponent("Fixtures").path
  private static let releases =
    (try? FileManager.default.contentsOfDirectory(atPath: fixtures ?? ""))?
    .filter { $0.hasPrefix("release-") }.sorted()

  @Test(
    "stores and remotes of each release, and of this program, show what was put in",
    .timeLimit(.minutes(5)), .enabled(if: MountedStore.isPossible, "needs /dev/fuse"),
    arguments: (releases ?? []) + ["this program"])
  func contents(release: String) throws {
    let fixtures = try #require(Self.fixtures)
    let directory = try TemporaryDirectory()
    let tools = directory.file("tools")
    try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: tools + "/llvs", withDestinationPath: MountedStore.program)
    func run(_ script: String) throws {
      let result = try shell(
        "export PATH='\(tools)':$PATH\n\(script)", in: directory.path, seconds: 280)
      #expect(result.status == 0, "\(result.output)")
    }
    var archive = "\(fixtures)/\(release)"
    if release == "this program" {
      archive = directory.file("today.tar.gz")
      try run("'\(fixtures)/make' '\(archive)'")
    }
    try run("mkdir here && cd here && tar -xpzf '\(archive)' && '\(fixtures)/look' >../found")
    try run("diff here/expected found")
  }
}
