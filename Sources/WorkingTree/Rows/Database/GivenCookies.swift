import Inodes

/// The cookies that the working tree gave to names of one directory before rows had the names.
struct GivenCookies {
  let byName: [FileName: EntryCookie]
  let all: Set<EntryCookie>

  init(_ cookies: [FileName: EntryCookie]) {
    byName = cookies
    all = Set(cookies.values)
  }
}
