import TestSupport
import Testing

/// A directory of a tree that is mounted in another place too.
@Suite(
  "llvs where a part of the tree is mounted", .timeLimit(.minutes(2)),
  .enabled(if: MountedStore.isPossible && PartOfTree.isPossible))
struct MountViewTests {
  /// Runs a script in a mount of the directory `d/e`, which stands at `$part`; `$all` is the whole tree.
  private func inPart(_ script: String) throws -> String {
    var output = ""
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      _ = try mounted.shell(
        """
        mkdir -p d/e/sub; echo top > f; echo below > d/e/f; echo g > d/e/g
        echo commit > .llvs/control; echo top two > f; echo below two > d/e/f
        echo commit > .llvs/control
        """)
      output = try TestSupport.shell(
        """
        mkdir part; export part="$PWD/part" all='\(mounted.path)' program='\(MountedStore.program)'
        cat > script <<'END'
        llvs() { "$program" "$@"; }
        mount --bind "$all/d/e" "$part" && cd "$part"
        \(script)
        END
        \(PartOfTree.apart) '. ./script' 2>&1
        """, in: mounted.directory
      ).output.replacing(mounted.directory, with: "HERE")
    }
    return output
  }

  @Test("paths are those of its own files, from the current directory and whole")
  func paths() throws {
    let output = try inPart(
      """
      llvs show head~:f; llvs show "head~:$part/f"; llvs show head~:/f; cd sub
      llvs show head~:../f; llvs show head~:f; llvs show head~: | head -1; llvs history ../g | wc -l; cd ..
      llvs restore head~ f -q; cat f "$all/f"; llvs undo -q; cat f
      """)
    #expect(
      output == "below\nbelow\ntop\nbelow\nbelow\nf\n1\nbelow\ntop two\nbelow two\n", "\(output)")
  }

  @Test("differences are those of what is seen, and what is not is named")
  func differences() throws {
    let output = try inPart(
      """
      echo pending > f; echo pending > "$all/f"; llvs diff --name-only; llvs diff --name-only .
      llvs diff f | grep '^[-+][a-z]'; llvs diff /f; echo $?
      llvs diff --name-only --store "$all/../store"; llvs commit -q; llvs diff; echo $?
      """)
    #expect(
      output == """
        d/e/f
        d/e/f
        -below two
        +pending
        llvs: f is not to be seen in HERE/part.
        3
        d/e/f
        f
        0

        """, "\(output)")
  }

  @Test("what is imported comes into what is seen")
  func imported() throws {
    let output = try inPart(
      """
      mkdir ../new; echo n > ../new/n; llvs import ../new -q; llvs import ../new --into more/of -q
      ls . more/of; llvs import ../new --into /elsewhere -q; echo $?; ls "$all"
      """)
    #expect(
      output == """
        .:
        f
        g
        more
        n
        sub

        more/of:
        n
        llvs: elsewhere is not to be seen in HERE/part.
        3
        d
        f

        """, "\(output)")
  }

  @Test("its conflicts are settled with a merge tool")
  func conflicts() throws {
    let output = try inPart(
      """
      llvs branch other -q; echo theirs > f; llvs commit -q; llvs switch - -q; echo ours > f
      llvs commit -q; llvs merge other -q; llvs conflicts
      printf 'echo both > "$4"\\n' > ../tool; chmod +x ../tool
      llvs mergetool --tool "sh ../tool"; cat f; llvs conflicts
      """)
    #expect(output.hasSuffix("d/e/f is settled\nboth\nno conflicts\n"), "\(output)")
  }
}

private enum PartOfTree {
  // Mounts of a name space of its own go with the last process in it.
  static let apart = "unshare --mount --propagation private bash -c"

  static let isPossible =
    (try? TestSupport.shell("\(apart) 'mount --bind . .'", in: "/tmp").status) == 0
}
