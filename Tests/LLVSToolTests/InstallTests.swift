import Foundation
import LLVSTool
import TestSupport
import Testing

/// What mount-scripts/install puts where; the release build that it makes is left out.
@Suite("Installing", .timeLimit(.minutes(3)))
struct InstallTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// Where patchelf is missing the script would install it, which a test does not.
  private static let isPossible = {
    (try? shell("command -v patchelf strip dpkg-query gzip >/dev/null"))?.status == 0
  }()

  /// Installs below `below` of a directory.
  private func install(_ words: String, in directory: TemporaryDirectory) throws -> ShellResult {
    try shell(
      """
      export DESTDIR="$PWD/below" LLVS_OFFLINE=1 LLVS_PROGRAM='\(MountedStore.program)'
      \(words.replacing("INSTALL", with: "'\(Self.root)/mount-scripts/install'"))
      """, in: directory.path, seconds: 120)
  }

  @Test(
    "what is installed runs without a path of the compiler, and --remove removes it all",
    .enabled(if: isPossible))
  func installs() throws {
    let directory = try TemporaryDirectory()
    let result = try install(
      """
      set -e
      mkdir -p below/usr/local/bin; echo mine > below/usr/local/bin/other
      INSTALL; INSTALL
      (cd below; find . ! -type d | sort)
      ! readelf -d below/usr/local/bin/llvs | grep -E 'RPATH|RUNPATH'
      test -x below/sbin/mount.llvs; test -x below/sbin/mount.fuse.llvs
      zcat below/usr/local/share/man/man1/llvs.1.gz | head -n 1
      grep -h ^ExecStart= below/usr/local/lib/systemd/*/llvs@.service | sort -u
      for shell in bash zsh fish; do "$LLVS_PROGRAM" completion $shell; done |
        cmp - <(cat below/usr/local/share/bash-completion/completions/llvs \\
          below/usr/local/share/zsh/site-functions/_llvs \\
          below/usr/local/share/fish/vendor_completions.d/llvs.fish) && echo equal
      INSTALL --remove; (cd below; find . ! -type d)
      INSTALL --remove || echo $?
      """, in: directory)
    let said = """
      Installed llvs, mount.llvs, mount.fuse.llvs, llvs@.service, llvs(1) and the completions of bash, zsh and fish.
      mount-scripts/install --remove removes them.

      """
    #expect(
      result.output == said + said + """
        ./sbin/mount.fuse.llvs
        ./sbin/mount.llvs
        ./usr/local/bin/llvs
        ./usr/local/bin/other
        ./usr/local/lib/systemd/system/llvs@.service
        ./usr/local/lib/systemd/user/llvs@.service
        ./usr/local/share/bash-completion/completions/llvs
        ./usr/local/share/fish/vendor_completions.d/llvs.fish
        ./usr/local/share/llvs/installed
        ./usr/local/share/man/man1/llvs.1.gz
        ./usr/local/share/zsh/site-functions/_llvs
        .TH LLVS 1 "" "llvs \(Release.number)" "User Commands"
        ExecStart=/usr/local/bin/llvs mount ${STORE} ${MOUNTPOINT} -o ${OPTIONS} --foreground
        equal
        Removed what mount-scripts/install had installed. Stores and settings are as they were.
        ./usr/local/bin/other
        Nothing was installed by mount-scripts/install below \(directory.path)/below.
        1

        """, "\(result.output)")
  }

  @Test("the links of the README that a package has lead to pages that it has")
  func documents() throws {
    let directory = try TemporaryDirectory()
    let result = try shell(
      """
      source '\(Self.root)/mount-scripts/setup'; source '\(Self.root)/mount-scripts/layout'
      lay_out_documents "$PWD/doc"; cd doc
      grep -oE '\\]\\([^)]*\\)' README.md | sed 's/^](//; s/)$//; s/#.*//' | sort -u
      """, in: directory.path, seconds: 30)
    let links = result.output.split(separator: "\n").map(String.init)
    #expect(links.count > 10 && links.contains("docs/tutorial.md"), "\(links)")
    for link in links where !link.hasPrefix("https://") {
      #expect(
        FileManager.default.fileExists(atPath: directory.path + "/doc/" + link), "\(link)")
    }
  }
}
