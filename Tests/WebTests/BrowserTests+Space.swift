import Testing

extension BrowserTests {
  @Test("What takes room is shown as bars, with a link to each file's history")
  func space() throws {
    try Self.with(SampleScript.plain) { browser, _ in
      try browser.evaluate("location.hash = '#/space'")
      try browser.wait("document.querySelectorAll('table.space').length === 3")
      #expect(try browser.text("document.querySelector('main h2').textContent") == "Space")
      #expect(
        try browser.text("document.querySelector('table.space th[scope=row]').textContent")
          == "files of the newest version")
      // The longest bar of each table is whole.
      let widths =
        "[...document.querySelectorAll('table.space')].map((table) => Math.max(...[...table.querySelectorAll('.kept')].map((bar) => Math.round(parseFloat(bar.getAttribute('width')))))).join()"
      #expect(try browser.text(widths) == "100,100,100")
      #expect(
        try browser.text(
          "document.querySelectorAll('table.space a[href^=\"#/history/head/\"]').length > 0")
          == "true")
    }
  }
}
