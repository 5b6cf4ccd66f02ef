extension ControlCommand {
  /// The command as a user would write it, shortened: for the log and for errors.
  package var title: String {
    switch self {
    case .commit: "commit"
    case .hold: "hold"
    case .retrieve(let peers): Self.title("retrieve", peers)
    case .send(let peers): Self.title("send", peers)
    case .exchange(let peers): Self.title("exchange", peers)
    case .importing: "import"
    case .sync(let peers): Self.title("sync", peers)
    case .merge(let merge):
      switch merge.target {
      case .heads: "merge"
      case .all: "merge all"
      case .named(let name): "merge \(name)"
      }
    case .restore(let version, _): "restore \(version)"
    case .undo: "undo"
    case .redo: "redo"
    case .branch(let name): "branch \(name)"
    case .branches: "branch"
    case .removeBranch(let name, _): "branch --delete \(name)"
    case .renameBranch(let old, let new): "branch --rename \(old) \(new)"
    case .switchTo(let target, let line):
      line.map { "switch \(target) as \($0)" } ?? "switch \(target)"
    case .tag(let name, _, _): "tag \(name)"
    case .tags: "tag"
    case .removeTag(let name): "tag --delete \(name)"
    case .renameTag(let old, let new): "tag --rename \(old) \(new)"
    case .settle: "settle"
    case .conflicts: "conflicts"
    case .set(let assignments): Self.title("set", assignments.map(\.name.rawValue))
    case .setPeers(let assignments):
      Self.title("set", assignments.map { "\($0.peer).\($0.name.rawValue)" })
    case .renewReplica: "set replica"
    case .adopt(let peer, let writer): Self.title("adopt", [peer, writer])
    case .key(let peer, let request): Self.title("key", [request.word, peer])
    case .settings: "set"
    case .ignore, .checkIgnored: "ignore"
    case .untrack: "untrack"
    case .verifyTree: "verify --tree"
    case .verify(let peer): Self.title("verify", peer.map { [$0] } ?? [])
    case .peer(let name, let change): "peer \(name) \(change.rawValue)"
    case .status: "status"
    case .pending: "pending"
    case .log: "log"
    case .help: "help"
    }
  }

  private static func title(_ name: String, _ words: [String]) -> String {
    ([name] + words).joined(separator: " ")
  }

  /// True if the command only shows something; the status goes on naming the command before it.
  package var isQuery: Bool {
    switch self {
    case .ignore(let patterns): patterns.isEmpty
    case .key(_, .list): true
    case .checkIgnored, .status, .pending, .log, .help, .conflicts, .tags, .branches,
      .settings:
      true
    default: false
    }
  }
}
