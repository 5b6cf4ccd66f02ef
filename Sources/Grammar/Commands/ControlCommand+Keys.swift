extension ControlCommand {
  /// A request about the keys of an encrypted peer.
  package enum KeyRequest: Hashable, Sendable {
    /// Lists the key files there, the keys held here, and how many bundles each encrypts.
    case list
    /// Makes the first key, or gets those that a passphrase opens.
    case open
    /// Lets another passphrase open the keys.
    case add(label: String?)
    /// Removes what a passphrase opens.
    case remove(label: String)
    /// Makes another key, which encrypts from now on.
    case rotate(label: String?)

    /// The word of the command.
    package var word: String {
      switch self {
      case .list: "list"
      case .open: "open"
      case .add: "add"
      case .remove: "remove"
      case .rotate: "rotate"
      }
    }
  }

  static func key(_ arguments: inout Arguments) throws(ControlError) -> ControlCommand {
    let verb = try arguments.text("list, open, add, remove or rotate")
    let peer = try arguments.text("a peer")
    switch verb {
    case "list": return .key(peer, .list)
    case "open": return .key(peer, .open)
    case "add": return .key(peer, .add(label: try arguments.textIfAny()))
    case "remove": return .key(peer, .remove(label: try arguments.text("a label")))
    case "rotate": return .key(peer, .rotate(label: try arguments.textIfAny()))
    default: throw arguments.misused("\"\(verb)\" is not list, open, add, remove or rotate")
    }
  }
}
