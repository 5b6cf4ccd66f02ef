/// The colours of a terminal; none if they are off.
package struct TextStyle: Sendable {
  /// A colour or weight, as its code in an escape sequence.
  package enum Paint: String, Sendable {
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case magenta = "35"
    case cyan = "36"
  }

  let isOn: Bool
  package init(isOn: Bool) { self.isOn = isOn }

  package func paint(_ text: String, _ paint: Paint) -> String {
    isOn && !text.isEmpty ? "\u{1B}[\(paint.rawValue)m\(text)\u{1B}[m" : text
  }

  /// Appends a line in a colour; the newline follows the end of the colour.
  func paint(line: some Collection<UInt8>, _ paint: Paint, into out: inout [UInt8]) {
    guard isOn, !line.isEmpty else {
      out += line
      return
    }
    let ends = line.suffix(1).elementsEqual([0x0A])
    out += "\u{1B}[\(paint.rawValue)m".utf8
    out += ends ? line.dropLast() : line[...]
    out += "\u{1B}[m".utf8
    if ends { out.append(0x0A) }
  }
}
