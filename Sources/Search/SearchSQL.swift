struct SearchSQL {
  private struct Names {
    var text: String
    var name: String
    var excludedText: String
    var excludedName: String

    /// Parameters 1 to 4 are the directory's ranges; four more belong to each alternative.
    init(ofAlternative index: Int) {
      let first = 5 + 4 * index
      (text, name) = ("?\(first)", "?\(first + 1)")
      (excludedText, excludedName) = ("?\(first + 2)", "?\(first + 3)")
    }
  }

  private let request: SearchIndex.Request
  private let alternatives: [SearchQuery]

  init(_ request: SearchIndex.Request) {
    self.request = request
    alternatives = request.query.alternatives
  }

  var parameters: [Parameter] {
    KeyRange.below(request.directory).map { .key($0) }
      + alternatives.flatMap { query in
        [
          query.textExpression, query.nameExpression, query.excludedText, query.excludedName,
        ].map { .text($0) }
      }
  }

  enum Parameter {
    case key([UInt8])
    case text(String?)
  }

  /// Rows of the path's id or the pending file's number, the version, 1 for a pending file, and the numbers of the
  /// alternatives that an exact search matches.
  var hits: String {
    let order =
      switch request.order {
      case .rank: "sum(rank), time DESC, isPending DESC, id"
      case .time: "time DESC, isPending DESC, id"
      case .path: "key, version DESC"
      }
    let head = "(SELECT key FROM paths WHERE paths.id = hits.id)"
    let key =
      request.order != .path
      ? "NULL"
      : request.pending.isEmpty
        ? head
        : """
        CASE isPending WHEN 1 THEN (SELECT path FROM temp.pending WHERE pending.id = hits.id)
          ELSE \(head) END
        """
    let limit = request.isExact ? "" : "LIMIT \(max(0, request.limit))"
    let met = request.isExact ? "group_concat(DISTINCT alternative)" : "NULL"
    return """
      SELECT id, version, isPending, \(met), \(key) AS key
        FROM (\(union(withRank: true))) AS hits
        GROUP BY isPending, id, version ORDER BY \(order) \(limit)
      """
  }

  var count: String {
    """
    SELECT count(*) FROM (SELECT DISTINCT id, version, isPending FROM (\(union(withRank: false))))
    """
  }

  private func union(withRank: Bool) -> String {
    let places: [Place] =
      [request.includesHistory ? .history : .head] + (request.pending.isEmpty ? [] : [.pending])
    return places.flatMap { place in
      alternatives.indices.flatMap { parts(of: place, alternative: $0, withRank: withRank) }
    }.joined(separator: " UNION ALL ")
  }

  private enum Place { case head, history, pending }

  private func parts(of place: Place, alternative index: Int, withRank: Bool) -> [String] {
    let query = alternatives[index]
    let (hasText, hasName) = (query.textExpression != nil, query.nameExpression != nil)
    let wanted = Names(ofAlternative: index)
    let (words, names, files, path, content, version, time) =
      switch place {
      case .head: ("words", "names", "tree", "tree.path", "tree.content", "NULL", "tree.time")
      case .history:
        (
          "words", "names", "history", "history.path", "history.content", "history.version",
          "history.version"
        )
      case .pending:
        (
          "pending_words", "pending_names", "temp.pending", "pending.id", "pending.id", "NULL",
          request.includesHistory ? "1 << 60" : "pending.time"
        )
      }
    var rest = ""
    if place != .pending {
      if place == .head { rest += " AND \(path) NOT IN (SELECT path FROM temp.hidden)" }
      if !request.directory.isEmpty {
        rest += """
           AND EXISTS (SELECT 1 FROM paths WHERE paths.id = \(path)
            AND (key >= ?1 AND key < ?2 OR key >= ?3 AND key < ?4))
          """
      }
    }
    if query.excludedName != nil {
      rest += """
         AND \(path) NOT IN (SELECT rowid FROM \(names) WHERE \(names) MATCH \(wanted.excludedName))
        """
    }
    func select(_ rank: String) -> String {
      """
      SELECT \(path) AS id, \(version) AS version, \(place == .pending ? 1 : 0) AS isPending,
        \(withRank ? rank : "0") AS rank, \(time) AS time, \(index) AS alternative
      """
    }
    let inName = "\(path) IN (SELECT rowid FROM \(names) WHERE \(names) MATCH \(wanted.name))"
    var parts: [String] = []
    if hasText {
      parts.append(
        """
        \(select("\(words).rank")) FROM \(words) JOIN \(files) ON \(content) = \(words).rowid
          WHERE \(words) MATCH \(wanted.text)\(hasName ? " AND \(inName)" : "")\(rest)
        """)
    }
    // Names have ten times the weight.
    guard hasName != hasText, !request.isExact || !hasText else { return parts }
    if query.excludedText != nil {
      let excluded = "SELECT rowid FROM \(words) WHERE \(words) MATCH \(wanted.excludedText)"
      rest += " AND \(content) NOT IN (\(excluded))"
    }
    parts.append(
      """
      \(select("10 * \(names).rank")) FROM \(names) JOIN \(files) ON \(path) = \(names).rowid
        WHERE \(names) MATCH \(hasText ? wanted.text : wanted.name)\(rest)
      """)
    return parts
  }
}
