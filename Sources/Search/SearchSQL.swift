/// The queries of a search. Parameter 1 is what the text must have, 2 what the name must have, 3
/// what the text must not have; 4 to 7 are the ranges of the directory's keys.
struct SearchSQL {
  private let request: SearchIndex.Request
  private let hasText: Bool
  private let hasName: Bool

  init(_ request: SearchIndex.Request) {
    self.request = request
    hasText = request.query.textExpression != nil
    hasName = request.query.nameExpression != nil
  }

  /// Rows of the path's id or the pending file's number, the version, and 1 for a pending file.
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
    return """
      SELECT id, version, isPending, \(key) AS key FROM (\(union(withRank: true))) AS hits
        GROUP BY isPending, id, version ORDER BY \(order) \(limit)
      """
  }

  /// One row, with the number of all hits.
  var count: String {
    """
    SELECT count(*) FROM (SELECT DISTINCT id, version, isPending FROM (\(union(withRank: false))))
    """
  }

  private func union(withRank: Bool) -> String {
    var parts = parts(of: request.includesHistory ? .history : .head, withRank: withRank)
    if !request.pending.isEmpty { parts += self.parts(of: .pending, withRank: withRank) }
    return parts.joined(separator: " UNION ALL ")
  }

  private enum Place { case head, history, pending }

  private func parts(of place: Place, withRank: Bool) -> [String] {
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
            AND (key >= ?4 AND key < ?5 OR key >= ?6 AND key < ?7))
          """
      }
    }
    func select(_ rank: String) -> String {
      """
      SELECT \(path) AS id, \(version) AS version, \(place == .pending ? 1 : 0) AS isPending,
        \(withRank ? rank : "0") AS rank, \(time) AS time
      """
    }
    let inName = "\(path) IN (SELECT rowid FROM \(names) WHERE \(names) MATCH ?2)"
    var parts: [String] = []
    if hasText {
      parts.append(
        """
        \(select("\(words).rank")) FROM \(words) JOIN \(files) ON \(content) = \(words).rowid
          WHERE \(words) MATCH ?1\(hasName ? " AND \(inName)" : "")\(rest)
        """)
    }
    // Words that are all in the name count ten times as much.
    guard hasName != hasText, !request.isExact || !hasText else { return parts }
    if request.query.excludedText != nil {
      rest += " AND \(content) NOT IN (SELECT rowid FROM \(words) WHERE \(words) MATCH ?3)"
    }
    parts.append(
      """
      \(select("10 * \(names).rank")) FROM \(names) JOIN \(files) ON \(path) = \(names).rowid
        WHERE \(names) MATCH \(hasText ? "?1" : "?2")\(rest)
      """)
    return parts
  }
}
