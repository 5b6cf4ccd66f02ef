internal import Glibc

extension StandardStream {
  /// Reads a line as ``readLine()``; a terminal does not show the typing.
  package func readSecret() -> String? {
    var settings = termios()
    guard unsafe tcgetattr(rawValue, &settings) == 0 else { return readLine() }
    let before = settings
    settings.c_lflag &= ~tcflag_t(ECHO)
    unsafe tcsetattr(rawValue, TCSAFLUSH, &settings)
    defer {
      var before = before
      unsafe tcsetattr(rawValue, TCSAFLUSH, &before)
    }
    return readLine()
  }
}
