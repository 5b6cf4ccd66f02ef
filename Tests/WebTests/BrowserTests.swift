import Foundation
import TestSupport
import Testing

/// A browser shows the page, and a keyboard and a pointer use it.
@Suite(
  "The page in a browser", .timeLimit(.minutes(5)), .serialized,
  .enabled(if: Browser.program != nil, "chromium is not installed"))
struct BrowserTests {
  /// Opens the page about a store that a script makes.
  static func with(
    _ script: String, options: [String] = [], seconds: Int = 60,
    _ body: (Browser, PageServer) throws -> Void
  ) throws {
    let server = try PageServer(script, options: options, seconds: seconds)
    defer { server.end() }
    let browser = try Browser()
    defer { browser.end() }
    try browser.look(width: 1280, height: 800, isDark: false)
    try browser.open(server.address)
    try body(browser, server)
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test("The list is used with the keyboard, and shows what a version changed")
  func versions() throws {
    try Self.with(SampleScript.plain) { browser, _ in
      try browser.wait("document.querySelectorAll('[role=option]').length === 2")
      // At first the head is shown, and the handle of the time line is at its right end.
      try browser.wait("document.querySelector('.detail h2')?.textContent === 'second'")
      try browser.wait("document.querySelector('.timeline input')?.value === '119'")
      #expect(
        try browser.text("document.querySelector('[role=option] .name').textContent.length") == "8")
      #expect(
        try browser.text("document.querySelector('[role=option]').innerText").contains("second"))
      #expect(try browser.text("document.querySelectorAll('svg.graph circle.node').length") == "2")
      try browser.evaluate("document.querySelector('[role=listbox]').focus()")
      try browser.press("ArrowDown", 40)
      try browser.press("Enter", 13)
      try browser.wait("document.querySelector('.detail h2')?.textContent === 'first'")
      #expect(try browser.text("document.activeElement.textContent") == "first")
      #expect(try browser.text("document.querySelectorAll('.detail .changes li').length") == "8")
      #expect(
        try browser.text("document.querySelector('[role=option][aria-selected=true]').id")
          == "version-1")
      let hasHref = "document.querySelector('nav [aria-current=page]').dataset.view"
      #expect(try browser.text(hasHref) == "versions")
    }
  }

  @Test("Files are shown as text, pictures and bytes; a page among them runs no script")
  func files() throws {
    try Self.with(SampleScript.plain) { browser, server in
      try browser.go("#/files/head/")
      try browser.wait("document.querySelectorAll('table.names tbody tr').length === 7")
      try browser.click("sub/")
      try browser.click("pic.svg")
      try browser.wait("document.querySelector('img.picture')?.naturalWidth === 90")
      try browser.go("#/files/head/dot.png")
      try browser.wait("document.querySelector('img.picture')?.naturalWidth === 1")
      try browser.go("#/files/head/page.html")
      try browser.wait("document.querySelector('.code')?.innerText.includes('<script>alert')")
      try browser.go("#/files/head/bin")
      try browser.wait("document.querySelector('.hex')?.textContent.includes('61 00 62')")
      try browser.go("#/files/head/odd%FFname")
      try browser.wait("document.querySelector('.code pre:last-child')?.textContent === 'x'")
      try browser.go("#/history/head/notes.txt")
      try browser.wait("document.querySelectorAll('table.names tbody tr').length === 2")
      try browser.click("Compare the two chosen")
      try browser.wait("document.querySelector('table.difference')")
      #expect(
        try browser.text(
          "[...document.querySelectorAll('td.text.new')].map((one) => one.textContent)")
          == "added: TWO,added: four")
      // A value that is opened by itself is in a sandbox of its own.
      try browser.call("Page.navigate", ["url": "\(server.address)raw?v=head&p=page.html"])
      try browser.wait("document.contentType === 'text/plain'")
      #expect(try browser.text("self.origin") == "null")
    }
  }

  @Test("A file is restored, and undone, and the page tells it")
  func restoring() throws {
    try Self.with(SampleScript.plain) { browser, server in
      try browser.go("#/files/v1/notes.txt")
      try browser.click("Restore this file")
      try browser.wait("document.getElementById('question').open")
      try browser.click("Restore")
      try browser.wait("document.getElementById('notice').innerText.startsWith('restore: ')")
      #expect(try server.run("llvs show head:notes.txt $at") == "one\ntwo\nthree\n")
      try browser.go("#/versions")
      try browser.wait("document.querySelectorAll('[role=option]').length === 3")
      try browser.click("Undo")
      try browser.wait(
        "document.getElementById('question-text').innerText.includes('1 changed: notes.txt')")
      try browser.evaluate("document.getElementById('question-yes').click()")
      try browser.wait("document.getElementById('notice').innerText.startsWith('undo: ')")
      try browser.wait("document.querySelectorAll('[role=option]').length > 3")
      #expect(try server.run("llvs show head:notes.txt $at") == "one\nTWO\nthree\nfour\n")
    }
  }

  @Test("Versions are found by message, author and file")
  func finding() throws {
    try Self.with(SampleScript.conflict) { browser, _ in
      func found(_ words: String, by field: String) throws -> String {
        try browser.evaluate(
          """
          (() => {
            const [words, field] = document.querySelectorAll('.find input, .find select');
            words.value = '\(words)'; field.value = '\(field)'; field.dispatchEvent(new Event('change'));
          })()
          """)
        try browser.wait("document.querySelector('.find [role=status]').textContent")
        return try browser.text("document.querySelector('.find [role=status]').textContent")
      }
      try browser.wait("document.querySelectorAll('[role=option]').length === 4")
      #expect(try found("RYE", by: "message") == "1 version")
      try browser.wait("document.querySelectorAll('[role=option]').length === 1")
      try browser.click("Files")
      try browser.go("#/versions")
      _ = try found("laptop", by: "author")
      try browser.wait("document.querySelector('[role=option] .headline')?.textContent === 'rye'")
      _ = try found("none", by: "p")
      try browser.wait("document.querySelectorAll('[role=option]').length === 0")
      #expect(
        try browser.text("document.querySelector('.none').innerText").hasPrefix(
          "No version changed this path. It begins at the top"))
      #expect(
        try browser.text("document.querySelector('.find input').placeholder").hasPrefix(
          "Path from the top"))
      _ = try found("/list", by: "p")
      try browser.wait("document.querySelectorAll('[role=option]').length === 2")
      #expect(try browser.text("document.querySelector('.none').innerText") == "")
    }
  }

  @Test(
    "The time line and the list have the same days, and a version opened by a link is in the list")
  func days() throws {
    let made = "/tmp/llvs-days-\(UUID().uuidString.prefix(13))"
    defer { try? FileManager.default.removeItem(atPath: made) }
    try LongHistory.makeDays(300, in: made)
    try Self.with("mv '\(made)' s") { browser, _ in
      let ends = "[...document.querySelectorAll('.ends span')].map((one) => one.textContent).join()"
      try browser.wait("document.querySelectorAll('[role=option]').length > 10")
      try browser.wait("document.querySelector('.ends output')?.textContent")
      let newest = try browser.text(
        "new Date(document.querySelector('[role=option] time').dateTime).toLocaleDateString(undefined, { month: 'short', day: 'numeric' })"
      )
      let shown = try browser.text(ends)
      #expect(shown.contains(",\(newest)"), "\(shown), not \(newest)")
      let day = try browser.text("document.querySelector('.today').textContent")
      #expect(
        try browser.text("document.querySelector('.ends output').textContent").hasPrefix(day))
      try browser.go("#/version/head~200")
      try browser.wait(
        """
        (() => {
          const row = document.querySelector('[role=option][aria-selected=true]')?.getBoundingClientRect();
          const list = document.querySelector('.list').getBoundingClientRect();
          return row && row.top >= list.top - 1 && row.bottom <= list.bottom + 1;
        })()
        """)
      try browser.wait(
        "document.querySelector('.ends output').textContent.startsWith(document.querySelector('.today').textContent)"
      )
      for width in [1440, 390] {
        try browser.look(width: width, height: 844, isDark: false)
        try browser.go("#/versions")
        try browser.wait("!document.querySelector('.versions.open')")
        try browser.evaluate("new Promise((done) => setTimeout(done, 300))")
        #expect(try browser.text("document.querySelector('.ends').clientHeight < 30") == "true")
        try Self.keep(browser, "days-\(width)", "#/versions")
      }
    }
  }

  @Test("A conflict of a long text shows what clashes, and the rest on request")
  func longConflict() throws {
    try Self.with(SampleScript.longConflict) { browser, _ in
      try browser.go("#/conflict/theirs/list")
      try browser.wait("document.querySelectorAll('main fieldset').length === 2")
      #expect(
        try browser.text("document.querySelector('main .hint').textContent")
          == "2 clashes. 1 other line that only Ann on desk changed, 1 other line that only Bob on laptop changed: kept with either side."
      )
      #expect(
        try browser.text("document.querySelector('.difference th').textContent")
          == "ours (in the tree): Ann on desk")
      #expect(
        try browser.text("document.querySelector('td.text.old').textContent") == "ours: white")
      let rows = "document.querySelectorAll('.difference tbody tr').length"
      // Two clashes with a choice each, four equal lines at each side of both, and three folds.
      #expect(try browser.text(rows) == "23")
      #expect(
        try browser.text("document.getElementById('merged').value.split('\\n').length") == "201")
      let clash =
        "[...document.querySelectorAll('fieldset')].findIndex((one) => one.contains(document.activeElement))"
      let isSeen = """
        (() => {
          const place = document.activeElement.getBoundingClientRect();
          return document.elementFromPoint(place.left + 4, place.top + 4) === document.activeElement;
        })()
        """
      for index in [0, 1, 0] {
        try browser.click("Next clash")
        try browser.wait("\(clash) === \(index)")
        try browser.wait(isSeen)
      }
      try browser.click("91 lines are equal: show them")
      #expect(try browser.text(rows) == "113")
      #expect(try browser.text("document.querySelector('.difference').innerText").contains("Bob"))
      try browser.click("To the text that settles it")
      try browser.wait("document.activeElement.id === 'merged'")
      #expect(
        try browser.text("document.documentElement.scrollHeight <= innerHeight") == "true")
    }
  }

  @Test(
    "Many changes are shown by directory, a renamed directory as one, and pictures with a slider")
  func largeVersions() throws {
    let script = """
      llvs init s -q; mkdir m; llvs mount s m -q; cd m; trap 'cd ..; llvs unmount m -q' EXIT
      mkdir -p new/sub; for i in $(seq 30); do echo a$i > new/$i; echo b$i > new/sub/$i; done
      llvs commit -q -m many; mv new old; llvs commit -q -m moved
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"/>' > p.svg; llvs commit -q
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>' > p.svg
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60"/>' > q.svg; llvs commit -q
      printf '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60"><g/></svg>' > q.svg; llvs commit -q
      """
    try Self.with(script) { browser, _ in
      let lines =
        "[...document.querySelectorAll('.detail details summary')].map((one) => one.textContent)"
      try browser.go("#/version/head~3")
      try browser.wait("document.querySelector('.detail h2')?.textContent === 'moved'")
      #expect(try browser.text(lines) == "renamed new/ to old/ (60 files)")
      #expect(try browser.text("document.querySelectorAll('.detail li').length") == "0")
      try browser.go("#/version/head~4")
      try browser.wait("document.querySelector('.detail h2')?.textContent === 'many'")
      #expect(try browser.text(lines) == "new/: 30 new, 111 B,new/sub/: 30 new, 111 B")
      try browser.evaluate("document.querySelector('.detail details').open = true")
      try browser.wait("document.querySelectorAll('.detail li').length === 30")
      try browser.go("#/difference/-/head~/p.svg")
      try browser.wait("document.querySelector('.pair')?.innerText.includes(', 90 × 60')")
      try browser.wait("document.querySelector('.pair')?.innerText.includes(', 40 × 30')")
      // Pictures of two sizes have no slider.
      #expect(try browser.text("document.querySelector('.slider').hidden") == "true")
      try browser.go("#/difference/head~/head/q.svg")
      try browser.wait("document.querySelector('.slider')?.hidden === false")
      let widths =
        "['.slider input', '.over img'].map((one) => Math.round(document.querySelector(one).getBoundingClientRect().width)).join()"
      #expect(try browser.text(widths) == "300,300")
      try browser.evaluate(
        "(() => { const range = document.querySelector('main input[type=range]'); range.value = 20; range.dispatchEvent(new Event('input')); })()"
      )
      try browser.wait(
        "document.querySelector('.over img:last-child').style.clipPath.includes('20%')")
      try browser.go("#/sync")
      try browser.wait(
        "/^[A-Z][a-z]{2} .* version [0-9A-F]{8} /.test(document.querySelector('.log')?.textContent)"
      )
    }
  }

  @Test("A conflict is settled with lines of both sides")
  func conflict() throws {
    try Self.with(SampleScript.conflict) { browser, server in
      try browser.wait("document.getElementById('conflict-count').innerText.startsWith('1')")
      try browser.go("#/conflicts")
      try browser.click("list")
      try browser.wait("document.querySelectorAll('ul.sides li').length === 3")
      #expect(try browser.text("document.querySelectorAll('main fieldset').length") == "1")
      #expect(
        try browser.text("document.querySelector('main .hint').textContent").contains(
          "1 other line that only"))
      let ours = try browser.text("document.getElementById('merged').value")
      try browser.wait("document.querySelector('input[value=theirs]')")
      try browser.evaluate("document.querySelector('input[value=theirs]').click()")
      let merged = try browser.text("document.getElementById('merged').value")
      #expect(merged != ours && merged.hasPrefix("milk\n"), "\(merged)")
      try browser.evaluate("document.getElementById('merged').value = 'milk\\nany bread\\n'")
      try browser.click("Settle with this text")
      try browser.click("Settle")
      try browser.wait("document.querySelector('main h2')?.textContent === 'No conflicts'")
      #expect(try server.run("llvs show head:list $at") == "milk\nany bread\n")
    }
  }

  @Test("Sync is started from the page, which shows peers and what happened")
  func sync() throws {
    try Self.with(SampleScript.conflict) { browser, server in
      try browser.go("#/sync")
      try browser.wait("document.querySelector('ul.cards li')?.innerText.includes('hub')")
      _ = try server.run("echo more > d/more; llvs import d -q $at")
      try browser.click("Sync with all peers")
      try browser.wait("document.getElementById('notice').innerText.startsWith('sync: ')")
      try browser.wait(
        "document.querySelector('.log').textContent.split('exchange hub').length === 5")
      // The log is at its end, at a second visit too.
      try browser.look(width: 390, height: 400, isDark: false)
      try browser.go("#/versions")
      try browser.wait("!document.querySelector('.log')")
      try browser.go("#/sync")
      try browser.wait(
        "(() => { const log = document.querySelector('.log'); return log && log.scrollTop > 0 && log.scrollTop + log.clientHeight >= log.scrollHeight - 4; })()"
      )
    }
  }

  @Test("With --read-only nothing offers a change")
  func readOnly() throws {
    try Self.with(SampleScript.conflict, options: ["--read-only"]) { browser, _ in
      #expect(try browser.text("document.getElementById('actions').hidden") == "true")
      for place in [
        "#/version/head", "#/files/head~/list", "#/history/head/list", "#/conflict/theirs/list",
        "#/sync",
      ] {
        try browser.go(place)
        try browser.wait("document.querySelector('main h2')")
        let buttons =
          "[...document.querySelectorAll('main button')].filter((one) => one.offsetParent).map((one) => one.textContent)"
        let shown = try browser.text(buttons)
        #expect(["", "Compare the two chosen"].contains(shown), "\(place): \(shown)")
      }
    }
  }

  /// Names what a screen reader would find without a name, or a keyboard could not reach.
  private static let audit = #"""
    (() => {
      const seen = (one) => one.offsetParent !== null;
      const named = (one) => (one.getAttribute('aria-label') ?? '').trim() || one.textContent.trim()
        || (one.id && document.querySelector(`label[for="${one.id}"]`)) || one.closest('label');
      const faults = [];
      for (const one of document.querySelectorAll('button, a, input, textarea, select')) {
        if (seen(one) && !named(one)) faults.push(`no name: ${one.outerHTML.slice(0, 120)}`);
      }
      for (const one of document.querySelectorAll('img')) {
        if (!one.getAttribute('alt')) faults.push(`no alt: ${one.src}`);
      }
      const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
      for (const id of new Set(ids)) {
        if (ids.filter((other) => other === id).length > 1) faults.push(`twice: ${id}`);
      }
      for (const one of document.querySelectorAll('[aria-labelledby], [aria-describedby], [aria-activedescendant]')) {
        for (const name of ['aria-labelledby', 'aria-describedby', 'aria-activedescendant']) {
          const id = one.getAttribute(name);
          if (id && seen(one) && !document.getElementById(id)) faults.push(`nothing has the id ${id}`);
        }
      }
      const heads = [...document.querySelectorAll('h1, h2, h3')].filter(seen).map((one) => Number(one.tagName[1]));
      heads.forEach((level, index) => { if (level > (heads[index - 1] ?? 0) + 1) faults.push(`h${level} after h${heads[index - 1]}`); });
      for (const one of document.querySelectorAll('body *')) {
        if (seen(one) && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'auto'
          && one.tabIndex < 0 && one.id !== 'main' && !one.classList.contains('detail')) faults.push(`no keyboard scrolls ${one.className}`);
      }
      // The contrast of text with what is behind it, by WCAG 2: 4.5 is asked for.
      const colour = (text) => (text.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
      const light = (rgb) => {
        const [r, g, b] = rgb.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (one) => {
        for (let at = one; at; at = at.parentElement) {
          const found = colour(getComputedStyle(at).backgroundColor);
          if (found.length === 3 || found[3] === 1) return found.slice(0, 3);
        }
        return [255, 255, 255];
      };
      for (const one of document.querySelectorAll('body *')) {
        const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!hasText || !seen(one) || one.closest('svg') || one.closest(':disabled')) continue;
        const [a, b] = [light(colour(getComputedStyle(one).color).slice(0, 3)), light(behind(one))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${one.className} ${one.textContent.slice(0, 30)}`);
      }
      if (document.documentElement.scrollHeight > innerHeight) faults.push('the page is higher than the window');
      if (document.documentElement.scrollWidth > innerWidth) faults.push('the page is wider than the window');
      const revisions = document.querySelector('.revisions');
      if (revisions && revisions.scrollWidth > revisions.parentElement.clientWidth + 1) faults.push('the history of a file is cut');
      return faults;
    })()
    """#

  @Test("Everything has a name and contrast enough, at three widths, light and dark")
  func accessible() throws {
    try Self.with(SampleScript.longConflict + "\n" + Self.more) { browser, _ in
      let places = [
        "#/versions", "#/version/head", "#/files/head/", "#/files/head/list", "#/files/head/bin",
        "#/files/head/dot.png", "#/history/head/list", "#/difference/-/head/list", "#/conflicts",
        "#/conflict/theirs/list", "#/sync", "#/compare/head~/head", "#/difference/-/head/p.svg",
      ]
      for (width, height) in [(390, 844), (820, 1100), (1440, 900)] {
        for isDark in [false, true] {
          try browser.look(width: width, height: height, isDark: isDark)
          for place in places {
            try browser.go(place)
            try browser.wait("document.querySelector('main h2') || '\(place)' === '#/versions'")
            // Pictures and lists come after the first drawing.
            try browser.evaluate("new Promise((done) => setTimeout(done, 150))")
            let faults = try browser.evaluate(Self.audit) as? [String] ?? ["no answer"]
            #expect(faults.isEmpty, "\(place) \(width) \(isDark ? "dark" : "light"): \(faults)")
            try Self.keep(browser, "few-\(width)-\(isDark ? "dark" : "light")", place)
          }
        }
      }
    }
  }

  private static let more = #"""
    printf 'a\0b' > d/bin
    printf 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' | base64 -d > d/dot.png
    mkdir e; cp d/bin d/dot.png e; llvs import e -q $at -m 'a picture and bytes'
    for fill in teal red; do
      echo "<svg xmlns='http://www.w3.org/2000/svg' width='640' height='240'><rect width='500' height='160' fill='$fill'/></svg>" > e/p.svg
      llvs import e -q $at -m "a $fill picture"
    done
    """#

  /// Writes a picture of the page, if a directory for pictures is named.
  private static func keep(_ browser: Browser, _ name: String, _ place: String) throws {
    guard let directory = ProcessInfo.processInfo.environment["LLVS_TEST_PICTURES"] else { return }
    let view = place.dropFirst(2).map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
    try browser.picture().write(to: URL(fileURLWithPath: "\(directory)/\(name)-\(view).png"))
  }

  @Test("A long history is scrolled to its end, with only what is to be seen in the page")
  func long() throws {
    let count = Int(ProcessInfo.processInfo.environment["LLVS_TEST_PAGE"] ?? "") ?? 3000
    let made = "/tmp/llvs-long-\(UUID().uuidString.prefix(13))"
    defer { try? FileManager.default.removeItem(atPath: made) }
    try LongHistory.make(in: made, versions: count)
    try Self.with("mv '\(made)' s") { browser, _ in
      try browser.wait("document.querySelectorAll('[role=option] .headline').length > 10")
      try browser.wait(
        "document.querySelector('[role=option]').getAttribute('aria-setsize') === '\(count)'",
        seconds: 60)
      #expect(
        try browser.text("document.querySelector('[role=option]').innerText").contains(
          "number \(count)"))
      // Each frame draws: a list that draws all rows would take seconds for one.
      let frames =
        try browser.evaluate(
          #"""
          (async () => {
            const list = document.querySelector('.list');
            const times = [];
            let last = performance.now();
            for (let step = 0; step < 120; step += 1) {
              list.scrollTop += 700;
              await new Promise((done) => requestAnimationFrame(done));
              times.push(performance.now() - last);
              last = performance.now();
            }
            times.sort((a, b) => a - b);
            return [times[60], times[113], times[119]];
          })()
          """#) as? [Double] ?? []
      print(
        "frames of \(count) versions, ms: median \(frames[0]), 95 % \(frames[1]), most \(frames[2])"
      )
      #expect(
        try (browser.evaluate("document.querySelectorAll('[role=option]').length") as? Int ?? .max)
          < 60)
      try browser.evaluate("document.querySelector('[role=listbox]').focus()")
      try browser.press("End", 35)
      try browser.wait(
        "[...document.querySelectorAll('[role=option]')].pop().innerText.includes('change number 1\\n')",
        seconds: 60)
      try browser.wait("document.querySelectorAll('.timeline rect').length > 1", seconds: 60)
      try browser.evaluate(
        "(() => { const range = document.querySelector('.timeline input'); range.value = range.max; range.dispatchEvent(new Event('input')); })()"
      )
      try browser.wait(
        "document.querySelector('[role=option] .headline')?.innerText.includes('number \(count)')")
      for (width, height) in [(390, 844), (820, 1100), (1440, 900)] {
        for isDark in [false, true] {
          try browser.look(width: width, height: height, isDark: isDark)
          try browser.go("#/versions")
          try browser.evaluate("new Promise((done) => setTimeout(done, 300))")
          try Self.keep(browser, "many-\(width)-\(isDark ? "dark" : "light")", "#/versions")
        }
      }
    }
  }
}
