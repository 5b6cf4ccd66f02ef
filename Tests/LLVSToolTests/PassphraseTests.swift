import Foundation
import TestSupport
import Testing

/// Passphrases that are typed on a terminal.
@Suite("a passphrase", .timeLimit(.minutes(2)))
struct PassphraseTests {
  /// Python that runs the program on a terminal of its own. `type(WORDS, STEPS)` waits for each prompt,
  /// answers it once the terminal shows nothing of what is typed, and returns the exit code and what was
  /// shown. It says whether the terminal shows again what is typed.
  private static let terminal = """
    import os, pty, signal, sys, termios, time
    # A shell lets what it starts in the background ignore Ctrl-C; on a terminal nobody does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    def shows(fd): return bool(termios.tcgetattr(fd)[3] & termios.ECHO)
    def type(words, steps):
        pid, fd = pty.fork()
        if pid == 0: os.execv(sys.argv[1], ['llvs'] + words.split())
        shown, start = b'', 0
        for prompt, answer in steps:
            while prompt not in shown[start:]: shown += os.read(fd, 4096)
            start = len(shown)
            while shows(fd): time.sleep(0.01)
            os.write(fd, answer)
        while True:
            try: piece = os.read(fd, 4096)
            except OSError: break
            if not piece: break
            shown += piece
        status = os.waitpid(pid, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        return code, shown.decode(), 'shows' if shows(fd) else 'hides'

    """

  private func run(_ script: String) throws -> [String] {
    let result = try Tool().run(
      """
      mkdir d hub; echo one > d/a; llvs init s -q; llvs import d --store s -q
      cat > terminal.py <<'END'
      \(Self.terminal)
      \(script)
      END
      python3 terminal.py '\(MountedStore.program)' 2>&1
      """)
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test("one that is typed makes the key, and opens it for a clone; nothing of it is shown")
  func typed() throws {
    let lines = try run(
      """
      new = [(b'New passphrase: ', b'tulip field\\n'), (b'once more: ', b'tulip field\\n')]
      code, shown, after = type('peer hub bundle+' + os.getcwd() + '/hub --encrypt --light --store s', new)
      print(code, after, 'tulip' in shown)
      print(type('sync --store s -q', [])[0])
      code, shown, after = type('clone ./hub t --encrypt -q', [(b'Passphrase: ', b'tulip field\\n')])
      print(code, after, 'tulip' in shown)
      print(type('export head out --store t -q', [])[0], open('out/a').read())
      """)
    #expect(lines == ["0 shows False", "0", "0 shows False", "0 one"], "\(lines)")
  }

  @Test("two that differ, a wrong one and none leave everything as it is")
  func refused() throws {
    let lines = try run(
      """
      peer = 'peer hub bundle+' + os.getcwd() + '/hub --encrypt --light --store s'
      code, shown, after = type(peer, [(b'New passphrase: ', b'one\\n'), (b'once more: ', b'two\\n')])
      print(code, after, 'not the same' in shown, os.listdir('hub'))
      code, shown, after = type(peer, [(b'New passphrase: ', b'\\n')])
      print(code, after, 'no passphrase' in shown, os.listdir('hub'))
      type(peer, [(b'New passphrase: ', b'one\\n'), (b'once more: ', b'one\\n')])
      type('sync --store s -q', [])
      code, shown, after = type('clone ./hub t --encrypt -q', [(b'Passphrase: ', b'two\\n')])
      print(code, after, os.path.exists('t'))
      """)
    #expect(
      lines == ["8 shows True []", "8 shows True []", "8 shows False"], "\(lines)")
  }

  @Test(
    "Ctrl-C where one is asked for ends the command, and the terminal shows again what is typed")
  func interrupted() throws {
    let lines = try run(
      """
      peer = 'peer hub bundle+' + os.getcwd() + '/hub --encrypt --light --store s'
      code, shown, after = type(peer, [(b'New passphrase: ', b'tul\\x03')])
      print(code, after, os.listdir('hub'))
      print(type('peer --store s', [])[1].strip())
      """)
    #expect(lines.first == "-2 shows []", "\(lines)")
    #expect(!lines.dropFirst().joined().contains("hub"), "\(lines)")
  }
}
