import FuseSession
import LLVSMount

/// The parsed words of `-o`: llvs's own, those of every file system, and those of mount(8) and systemd.
struct MountWords {
  private(set) var request: MountRequest
  private(set) var isRemount = false

  init(_ text: String, store: String, mountPoint: String) throws {
    request = MountRequest(store: store, mountPoint: mountPoint)
    let words = Self.words(of: text)
    isRemount = words.contains("remount")
    for word in words {
      guard try !request.take(word), !Self.isForOthers(word) else { continue }
      let name = String(word.prefix { $0 != "=" })
      guard !Self.settled.contains(name) else {
        // mount(8) passes all options that the kernel shows of the mount to a remount.
        if isRemount { continue }
        throw UsageError("\(word): the daemon settles that with the kernel itself")
      }
      throw UsageError("there is no mount option \(word)")
    }
  }

  /// True for the options that mount(8), systemd and their helpers read themselves.
  private static func isForOthers(_ word: String) -> Bool {
    switch word {
    case "defaults", "auto", "noauto", "user", "nouser", "users", "nofail", "_netdev", "owner",
      "group", "remount", "bind", "default_permissions":
      true
    default:
      ["x-", "X-", "comment=", "user=", "helper=", "uhelper="].contains { word.hasPrefix($0) }
    }
  }

  /// Options that the daemon and the kernel agree on; a user cannot choose them.
  private static let settled: Set<String> = [
    "subtype", "max_read", "fd", "rootmode", "user_id", "group_id", "blksize",
  ]

  /// Splits the text of `-o` at commas; a backslash before a comma makes it part of a word.
  private static func words(of text: String) -> [String] {
    var words = [""]
    var isEscaped = false
    for character in text {
      if !isEscaped, character == "\\" {
        isEscaped = true
        continue
      }
      if !isEscaped, character == "," {
        words.append("")
      } else {
        words[words.count - 1].append(character)
      }
      isEscaped = false
    }
    return words.filter { !$0.isEmpty }
  }
}

extension MountRequest {
  /// Sets the option of one word of `-o`; returns false for a word that is no option of the daemon or the kernel.
  fileprivate mutating func take(_ word: String) throws -> Bool {
    switch word {
    case "allow_other": allowsOthers = true
    case "force": isForced = true
    case "nocreate": creates = false
    case "lowpower": savesPower = true
    case "fasthistory": hurriesHistory = true
    case "auto_unmount", "allow_root": others.append(word)
    case _ where word.hasPrefix("names="):
      guard let names = Int(word.dropFirst(6)), names > 0 else {
        throw UsageError("\(word) is not a number of names")
      }
      self.names = names
    case _ where word.hasPrefix("fsname="): source = String(word.dropFirst(7))
    case _ where Self.labels.contains { word.hasPrefix($0) }: others.append(word)
    default: return flags.take(word)
    }
    return true
  }

  private static let labels = ["context=", "fscontext=", "defcontext=", "rootcontext="]
}
