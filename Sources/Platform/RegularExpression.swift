internal import Glibc

/// A POSIX extended regular expression over bytes, as in `grep -E` (regcomp(3)). `^` and `$` match at the ends of
/// each line; only a newline matches a newline. For one thread at a time.
@safe package final class RegularExpression {
  package struct Fault: Error {
    /// A clause of the C library.
    package let reason: String
  }

  private var compiled = unsafe regex_t()

  package init(
    _ pattern: [UInt8], ignoringCase: Bool = false, isFixed: Bool = false
  ) throws(Fault) {
    guard !pattern.contains(0), !pattern.contains(0x0A) else {
      throw Fault(reason: "a pattern is one line without NUL bytes")
    }
    let special = Array("\\.[]{}()*+?^$|".utf8)
    let text =
      isFixed ? pattern.flatMap { special.contains($0) ? [0x5C, $0] : [$0] } : pattern
    let flags = REG_EXTENDED | REG_NEWLINE | (ignoringCase ? REG_ICASE : 0)
    let code = unsafe (text + [0]).withUnsafeBytes { bytes in
      unsafe regcomp(&compiled, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), flags)
    }
    guard code == 0 else {
      var words = [UInt8](repeating: 0, count: 256)
      _ = unsafe words.withUnsafeMutableBytes { bytes in
        unsafe regerror(
          code, &compiled, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
      }
      throw Fault(reason: String(decoding: words.prefix { $0 != 0 }, as: UTF8.self))
    }
  }

  deinit { unsafe regfree(&compiled) }

  package func firstMatch(in bytes: [UInt8], from offset: Int = 0) -> Range<Int>? {
    guard offset <= bytes.count else { return nil }
    var match = regmatch_t(rm_so: regoff_t(offset), rm_eo: regoff_t(bytes.count))
    let code = unsafe bytes.withUnsafeBytes { raw in
      // An empty array has no address.
      let text: UnsafePointer<CChar>? = unsafe raw.baseAddress?.assumingMemoryBound(to: CChar.self)
      guard let text = unsafe text else {
        return unsafe regexec(&compiled, "", 1, &match, REG_STARTEND)
      }
      return unsafe regexec(&compiled, text, 1, &match, REG_STARTEND)
    }
    guard code == 0, match.rm_so >= 0, match.rm_eo >= match.rm_so else { return nil }
    return Int(match.rm_so)..<Int(match.rm_eo)
  }
}
