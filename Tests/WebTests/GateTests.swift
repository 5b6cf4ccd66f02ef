import Testing

@testable import Web

@Suite("Who is let in") struct GateTests {
  private let gate = Gate(token: "0123abcd", port: 4000)
  private let own = "http://127.0.0.1:4000"

  private func status(
    _ method: String = "GET", _ path: String = "/0123abcd/api/state",
    _ headers: [String: String] = [:]
  ) -> Int? {
    let all = ["host": "127.0.0.1:4000"].merging(headers) { $1 }
    return gate.refusal(WebRequest(method: method, path: path, headers: all))?.status
  }

  @Test("The page's own requests are let in")
  func ownRequests() {
    #expect(gate.address == "http://127.0.0.1:4000/0123abcd/")
    #expect(status() == nil)
    #expect(status("GET", "/0123abcd/", ["sec-fetch-site": "none"]) == nil)
    #expect(status("POST", "/0123abcd/api/run", ["origin": own]) == nil)
    #expect(
      status("POST", "/0123abcd/api/run", ["origin": own, "sec-fetch-site": "same-origin"]) == nil)
  }

  @Test(
    "An address without the token is refused",
    arguments: ["/", "/0123abcd", "/0123abce/", "/0123abcdx/", "//0123abcd/", "/0123ABCD/", ""])
  func token(_ path: String) {
    #expect(status("GET", path) == 403)
  }

  @Test(
    "A name of somebody else's for this machine is refused",
    arguments: ["evil.example:4000", "localhost:4000", "127.0.0.1", "127.0.0.1:4001", ""])
  func host(_ host: String) {
    #expect(status("GET", "/0123abcd/", ["host": host]) == 403)
    let none = WebRequest(path: "/0123abcd/")
    #expect(gate.refusal(none)?.status == 403)
  }

  @Test("Other pages are refused, and so is a change that does not say where it is from")
  func origin() {
    for other in ["http://evil.example", "null", "http://127.0.0.1:4001", "https://127.0.0.1:4000"]
    {
      #expect(status("GET", "/0123abcd/", ["origin": other]) == 403)
      #expect(status("POST", "/0123abcd/api/run", ["origin": other]) == 403)
    }
    for site in ["cross-site", "same-site"] {
      #expect(status("GET", "/0123abcd/", ["sec-fetch-site": site]) == 403)
    }
    let arrival = [
      "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document",
    ]
    #expect(status("GET", "/0123abcd/", arrival) == nil)
    #expect(status("GET", "/0123abcd/api/state", arrival) == 403)
    #expect(status("GET", "/0123abcd/raw", arrival) == 403)
    #expect(
      status("GET", "/0123abcd/", arrival.merging(["sec-fetch-dest": "iframe"]) { $1 }) == 403)
    #expect(status("POST", "/0123abcd/api/run") == 403)
    #expect(status("DELETE") == 405)
    #expect(status("OPTIONS", "/0123abcd/", ["origin": own]) == 405)
  }
}
