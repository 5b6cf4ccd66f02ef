import Control
import Grammar
import Testing
import Web

@Suite("What a request says") struct RequestTests {
  @Test("Fields of a form are bytes, and a malformed form is refused as a whole")
  func forms() throws {
    let form = try #require(FormBody(Array("a=1&path=x%FF%2By+z&empty=".utf8)))
    #expect(form["a"] == [0x31])
    #expect(form["path"] == [0x78, 0xFF, 0x2B, 0x79, 0x20, 0x7A])
    #expect(form["empty"] == [])
    #expect(form["none"] == nil)
    for bad in ["a=%", "a=%f", "a=%zz", "a=1&a=2", "%ff=1"] {
      #expect(FormBody(Array(bad.utf8)) == nil, "\(bad)")
    }
    let many = (0..<65).map { "f\($0)=1" }.joined(separator: "&")
    #expect(FormBody(Array(many.utf8)) == nil)
  }

  @Test("Ranges are those of RFC 9110")
  func ranges() {
    #expect(ByteRange(nil, length: 10) == .whole)
    #expect(ByteRange("bytes=0-3", length: 10) == .part(offset: 0, count: 4))
    #expect(ByteRange("bytes=8-", length: 10) == .part(offset: 8, count: 2))
    #expect(ByteRange("bytes=8-99", length: 10) == .part(offset: 8, count: 2))
    #expect(ByteRange("bytes=-3", length: 10) == .part(offset: 7, count: 3))
    #expect(ByteRange("bytes=-30", length: 10) == .part(offset: 0, count: 10))
    #expect(ByteRange("bytes=10-", length: 10) == .unsatisfiable)
    #expect(ByteRange("bytes=-0", length: 10) == .unsatisfiable)
    #expect(ByteRange("bytes=0-0", length: 0) == .unsatisfiable)
    for odd in [
      "bytes=3-2", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b", "bytes=-", "bytes=+1-2",
      "bytes=99999999999999999999-",
    ] {
      #expect(ByteRange(odd, length: 10) == .whole, "\(odd)")
    }
  }

  @Test("The bytes decide the type, and a name alone makes no page")
  func types() {
    func type(_ bytes: [UInt8], _ name: String) -> MediaType {
      MediaType(bytes, path: Array(name.utf8))
    }
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0]
    #expect(type(png, "a.html") == .picture("image/png"))
    #expect(type(Array("<html>".utf8), "a.png") == .text)
    #expect(type(Array("<html>".utf8), "a.html") == .text)
    #expect(type(Array("<svg/>".utf8), "d/a.SVG") == .drawing)
    #expect(type(Array("GIF89a".utf8), "x") == .picture("image/gif"))
    #expect(type([1, 0, 2], "a.txt") == .other)
    #expect(type([], "a") == .text)
  }

  private func command(_ text: String) throws -> PageCommand {
    try PageCommand(try #require(FormBody(Array(text.utf8))))
  }

  @Test("Commands become the words of the control file, and a path is no option")
  func commands() throws {
    func words(_ text: String) throws -> [String]? {
      try command(text).words?.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(try words("command=commit&message=two+words") == ["commit", "two words"])
    #expect(try words("command=commit") == ["commit"])
    #expect(try words("command=undo") == ["undo"])
    #expect(
      try words("command=restore&version=head~&path=--all") == ["restore", "head~", "/--all"])
    #expect(
      try words("command=settle&path=a+b&side=theirs.2&seen=x") == ["settle", "/a b", "theirs.2"])
    #expect(try words("command=settle-text&path=a&text=&seen=x") == nil)
  }

  @Test(
    "Other commands, and those with a part missing, are refused",
    arguments: [
      "command=set&name=on-sync", "command=merge-exec", "command=peer", "", "command=settle&path=a",
      "command=settle&path=a&side=ours", "command=settle&path=a&side=exec&seen=x",
      "command=settle&path=a&side=theirs.x&seen=x", "command=settle&path=&side=ours&seen=x",
      "command=restore", "command=settle&path=a%00b&side=ours&seen=x",
      "command=settle-text&path=a&seen=x",
    ])
  func refusals(_ text: String) {
    #expect(throws: ControlError.self) { try command(text) }
  }
}
