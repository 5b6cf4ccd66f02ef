import LLVSCore
import Testing

/// What is told of a holder that is gone, from the text it left in the file `lock`.
@Suite struct LastWriterStatusTests {
  private let killed = LastWriterStatus(failure: "the daemon was killed")

  @Test(
    "A holder that did not come so far as to say how it ended was killed, while it finished too",
    arguments: ["17\n", "17\ndevice 0:52\n", "17 finishing\n", "17 finishing\nen"])
  func unfinished(text: String) {
    #expect(LastWriterStatus(of: 17, inLock: text) == killed)
  }

  @Test("What a holder said at its end is told")
  func finished() {
    #expect(LastWriterStatus(of: 17, inLock: "17 finishing\nend\n") == LastWriterStatus())
    #expect(
      LastWriterStatus(
        of: 17, inLock: "17 finishing\nend\nfull\nfailure no space\ndamaged a, b\nunsaved c\n")
        == LastWriterStatus(
          failure: "no space", lacksSpace: true, damaged: "a, b", unsaved: "c"))
  }

  @Test(
    "Where somebody else has had the store since, nothing is told",
    arguments: ["", "18\n", "171\n", "18 finishing\nend\nfailure no space\n"])
  func another(text: String) {
    #expect(LastWriterStatus(of: 17, inLock: text) == LastWriterStatus())
  }
}
