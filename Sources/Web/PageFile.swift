/// A file of the page itself, contained in the program.
struct PageFile {
  private let bytes: [UInt8]
  private let type: String
  private var isPage: Bool { type.hasPrefix("text/html") }

  /// Finds a file by its place after the token; nil if it does not exist.
  init?(_ place: String) {
    switch place {
    case "":
      bytes = PackageResources.index_html
      type = "text/html; charset=utf-8"
    case "page/style.css":
      bytes = PackageResources.style_css
      type = "text/css; charset=utf-8"
    case "page/icon.svg":
      bytes = PackageResources.icon_svg
      type = "image/svg+xml"
    default:
      guard let script = Self.scripts[place] else { return nil }
      bytes = script
      type = "text/javascript; charset=utf-8"
    }
  }

  private static let scripts: [String: [UInt8]] = [
    "page/main.js": PackageResources.main_js, "page/elements.js": PackageResources.elements_js,
    "page/server.js": PackageResources.server_js, "page/graph.js": PackageResources.graph_js,
    "page/versions.js": PackageResources.versions_js, "page/files.js": PackageResources.files_js,
    "page/difference.js": PackageResources.difference_js,
    "page/conflicts.js": PackageResources.conflicts_js, "page/sync.js": PackageResources.sync_js,
    "page/space.js": PackageResources.space_js,
  ]

  /// Scripts and styles come only from the page's own directory, never from a version under the token.
  func response(base: String) -> WebResponse {
    var headers = [(name: "Content-Type", value: type), (name: "Cache-Control", value: "no-store")]
    if isPage {
      headers.append(
        (
          "Content-Security-Policy",
          "default-src 'none'; script-src \(base)page/; style-src \(base)page/; img-src \(base); "
            + "connect-src \(base); base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'; trusted-types 'none'"
        ))
    }
    return WebResponse(status: 200, headers: headers, body: .bytes(bytes))
  }
}
