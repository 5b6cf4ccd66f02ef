import TestSupport
import Testing

/// The tests that let machines work for long, each with the program itself on a mounted store.
@Suite(.enabled(if: MountedStore.isPossible, "needs /dev/fuse and the right to mount"))
enum Machines {}
