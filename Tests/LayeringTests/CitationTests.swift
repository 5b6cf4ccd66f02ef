import Foundation
import Testing

@Test("Every rule that a comment cites is in the page that it names")
func commentsCiteWhatIsThere() {
  let check = CitationCheck(pages: Pages(Repository.pages()))
  let all = Repository.sources() + Repository.scripts()
  #expect(all.count > 500, "the sources were not found")
  for file in all {
    for fault in check.faults(inComments: file.text) { Issue.record("\(file.path): \(fault)") }
  }
}

@Test("Every page and rule that a page, README or the guide cites is there")
func pagesCiteWhatIsThere() throws {
  let pages = Repository.pages()
  #expect(pages.count > 10, "the pages were not found")
  let check = CitationCheck(pages: Pages(pages))
  var all = pages
  for path in ["README.md", ".github/CONTRIBUTING.md"] { all[path] = try Repository.text(path) }
  for (name, text) in all {
    for fault in check.faults(inPage: name, text) { Issue.record("\(name): \(fault)") }
  }
}

@Test("A citation that leads nowhere is found", arguments: samples)
func findsFaults(sample: Sample) {
  let check = CitationCheck(
    pages: Pages([
      "merging.md": "# Merging\n### M1: One\n### M2: Two\n### M3: Three\n### M9: Fields\n",
      "writes.md": "# Writes\n## The cut\n### Rule 1: Saves\n",
    ]))
  #expect(check.faults(inComments: sample.text).count == sample.faults)
}

/// A text with comments, and how many faults are in it.
struct Sample {
  let text: String
  let faults: Int

  init(_ text: String, _ faults: Int) {
    self.text = text
    self.faults = faults
  }
}

private let samples = [
  Sample("// Fields (docs/merging.md, M9) merge.", 0),
  Sample("// Fields (docs/merging.md, M16) merge.", 1),
  Sample("/// See docs/merging.md,\n  /// M1 to M3.", 0),
  Sample("/// See docs/merging.md,\n/// M1 to M4.", 1),
  Sample("let a = 1 // docs/writes.md, rules 1 and 3", 1),
  Sample("// docs/writes.md, \"The cut\"", 0),
  Sample("// docs/writes.md, \"The cat\"", 1),
  Sample("// docs/nothing.md", 1),
  Sample("# which heads (rule 5)", 1),
  Sample("// a head (M5)", 1),
  Sample("// as merging.md has it", 1),
  Sample("// section 4 of a book", 1),
  Sample("// as RFC 9110 section 14.4 has it", 0),
  Sample("// a rule " + CitationCheck.absent[0], 1),
  Sample("let path = \"notes.md\"", 0),
]

@Test("A page that cites what another does not have is found")
func findsFaultsOfPages() {
  let check = CitationCheck(
    pages: Pages(["a.md": "## Rule 1: One\n", "merging.md": "### M1: One\n"]))
  #expect(check.faults(inPage: "a.md", "Rule 1, [Merging](merging.md), M1, and M1.").isEmpty)
  #expect(check.faults(inPage: "a.md", "see rule 2").count == 1)
  #expect(check.faults(inPage: "a.md", "see [b](b.md) and [Merging](merging.md), M2").count == 2)
  #expect(check.faults(inPage: "README.md", "three rules 5 times").isEmpty)
}
