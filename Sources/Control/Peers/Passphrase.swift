package import Grammar
import Platform

/// A passphrase from the environment: the first line of the file `LLVS_PASSPHRASE_FILE`, or of the output of the
/// shell command `LLVS_PASSPHRASE_COMMAND`.
package enum Passphrase {
  package static let longest = 4096
  /// The longest time for a command, in nanoseconds.
  private static let patience: UInt64 = 120_000_000_000

  /// Returns the passphrase; nil if the environment has none.
  /// - Throws: ``ControlError`` if the file cannot be read, the command fails, or there is no line.
  package static func given(isGivenUp: () -> Bool = { false }) throws(ControlError) -> [UInt8]? {
    if let path = variable("LLVS_PASSPHRASE_FILE") {
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try FileSystem.read(path, atMost: longest + 1)
      } catch {
        throw ControlError(.notPermitted, "the file of the passphrase cannot be read: \(error)")
      }
      return try line(bytes, of: path)
    }
    guard let command = variable("LLVS_PASSPHRASE_COMMAND") else { return nil }
    let (code, bytes): (Int32, [UInt8])
    do throws(SystemError) {
      (code, bytes) = try ChildProcess.output(
        of: ["/bin/sh", "-c", command], atMost: longest, patience: patience, isGivenUp: isGivenUp)
    } catch {
      throw ControlError(.notPermitted, "LLVS_PASSPHRASE_COMMAND gave no passphrase: \(error)")
    }
    guard code == 0 else {
      throw ControlError(.notPermitted, "LLVS_PASSPHRASE_COMMAND ended with code \(code)")
    }
    return try line(bytes, of: "the output of LLVS_PASSPHRASE_COMMAND")
  }

  private static func variable(_ name: String) -> String? {
    SystemProcess.environment(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func line(_ bytes: [UInt8], of name: String) throws(ControlError) -> [UInt8] {
    var line = Array(bytes.prefix { $0 != 0x0A })
    if line.last == 0x0D { line.removeLast() }
    guard !line.isEmpty, line.count <= longest else {
      throw ControlError(.notPermitted, "\(name) has no passphrase in its first line")
    }
    return line
  }
}
