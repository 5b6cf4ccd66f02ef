import Testing

@testable import TreeNames

@Test(
  "A link's target is its bytes, and where they hold a NUL their escaped form, cut where no target is longer",
  arguments: [
    ("a/b c", "a/b c"), ("", ""), ("a\0b c", "%llvs%a%00b%20c"), ("\0", "%llvs%%00"),
    (String(repeating: "\0", count: 4000), "%llvs%" + String(repeating: "%00", count: 1363)),
  ])
func linkTargetsAreShown(bytes: String, shown: String) {
  #expect(LinkTarget.shown(Array(bytes.utf8)) == Array(shown.utf8))
}
