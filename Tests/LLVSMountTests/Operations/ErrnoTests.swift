import LLVSCore
import Platform
import Testing
import TreeNames

@testable import LLVSMount

@Test("Every error of the file tree has its own errno, and EIO is damage's alone")
func everyErrorHasItsErrno() {
  let expected: [(FSError, Int32)] = [
    (.notPermitted, 1), (.noEntry, 2), (.interrupted, 4), (.io, 5), (.noDevice, 6), (.tooBig, 7),
    (.accessDenied, 13), (.busy, 16), (.exists, 17), (.crossDevice, 18),
    (.notDirectory, 20), (.isDirectory, 21), (.invalid, 22), (.fileTooBig, 27), (.noSpace, 28),
    (.readOnly, 30), (.tooManyLinks, 31), (.outOfRange, 34), (.nameTooLong, 36),
    (.notEmpty, 39), (.noData, 61), (.notSupported, 95), (.timedOut, 110),
    (.badMessage, 74), (.hostUnreachable, 113), (.stale, 116), (.cancelled, 125),
    (.system(SystemError(errno: 122, call: "write")), 122),
    (.store(.corrupt("x")), 5), (.store(.busy("x")), 16), (.store(.noSpace("x")), 28),
    (.store(.unreachable("x")), 113), (.store(.timedOut("x")), 110), (.store(.cancelled), 4),
    (.store(.fromTheFuture("x")), 95), (.store(.unreliable("x")), 95), (.store(.readOnly), 30),
    (.store(.invalid("x")), 22), (.store(.notFound("x")), 2), (.store(.forgotten("x")), 61),
    (.store(.noCommonAncestor(Version.ID("a"), Version.ID("b"))), 18),
  ]
  for (error, errno) in expected { #expect(error.errno == errno, "\(error)") }
}
