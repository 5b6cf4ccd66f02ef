import TestSupport
import Testing

extension Mounted {
  @Suite(.timeLimit(.minutes(2)))
  struct ConflictFiles {
    @Test("rm -r of a conflict's directory settles it, cp of one of its files settles as that")
    func removal() throws {
      try MountedStore.with { store in
        try store.run(
          """
          mkdir d
          for f in a d/b d/c; do echo base > $f; done
          echo commit > .llvs/control
          echo 'branch other' > .llvs/control
          for f in a d/b d/c; do echo other > $f; done
          echo commit > .llvs/control
          echo 'switch -' > .llvs/control
          for f in a d/b d/c; do echo this > $f; done
          echo commit > .llvs/control
          echo 'merge other using ours' > .llvs/control
          test "$(ls .llvs/conflicts)" = "$(printf 'a\\nd')"
          grep -q '^conflicts *3' .llvs/control
          diff .llvs/conflicts/a/ours a
          test "$(cat d/.llvs/conflicts/b/theirs)" = other
          ! (echo x > .llvs/conflicts/a/theirs) 2>/dev/null
          ! rmdir .llvs/conflicts/d 2>/dev/null
          rm -r .llvs/conflicts/d
          test "$(ls .llvs/conflicts)" = a
          grep -q '^conflicts *1' .llvs/control
          cp .llvs/conflicts/a/theirs a
          echo commit > .llvs/control
          test -z "$(ls .llvs/conflicts)"
          test "$(cat a d/b d/c | tr '\\n' ' ')" = "other this this "
          """)
      }
    }
  }
}
