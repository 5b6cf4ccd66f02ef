import TestSupport
import Testing

extension Mounted {
  /// What history says to those who would change it.
  @Suite(.serialized) struct HistoryErrnoTests {
    @Test(
      "Every call that would change a version is EROFS, and changes nothing",
      .timeLimit(.minutes(1)))
    func readOnly() throws {
      try MountedStore.with(stored: [:]) { mounted in
        try mounted.commitSample()
        try mounted.python(
          #"""
          top = '.llvs/versions/' + os.listdir('.llvs/versions')[0]
          before = subprocess.check_output(['find', top, '-printf', '%i %m %s %T@ %C@ %p\n'])
          f, d, l = top + '/d/f', top + '/d', top + '/d/l'
          refused(f, d, l)
          calls = [
              (os.rename, f, 'out'), (os.rename, 'own', d + '/in'), (os.link, f, 'out'), (os.link, 'own', d + '/in'),
          ]
          for call, *args in calls: raises(errno.EROFS, call, *args)
          raises(errno.EROFS, renameat2, f, l, 2)
          assert os.access(f, os.R_OK) and get(f) == b'text\n'
          # What is wrong besides comes first, as on a disk that is mounted read-only.
          raises(errno.EEXIST, os.mkdir, d + '/e'); raises(errno.ENOENT, os.unlink, d + '/none')
          raises(errno.ENOTDIR, os.mkdir, f + '/x'); raises(errno.EEXIST, os.symlink, 't', l)
          same(subprocess.check_output(['find', top, '-printf', '%i %m %s %T@ %C@ %p\n']), before)
          same(sorted(os.listdir('.')), ['d', 'own'])
          """#)
      }
    }
  }
}
