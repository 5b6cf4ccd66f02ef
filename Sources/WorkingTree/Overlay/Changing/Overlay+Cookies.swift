package import Inodes

// A changed name gets its cookie when a listing first needs it and keeps it until the change ends; the recorded
// tree gives it the same cookie when a head brings the name.

extension Overlay {
  /// Only of names that listings asked for.
  package func cookies(of directory: InodeNumber) -> SharedMap<FileName, EntryCookie> {
    cookies[directory] ?? SharedMap()
  }

  /// Gives changed names of a directory their cookies, those of the recorded tree where it has the names. Names
  /// that have one keep it.
  /// - Complexity: O(*k*) for *k* changed names of the directory.
  package mutating func giveCookies(
    _ choices: [(name: FileName, choice: CookieChoice)], in directory: InodeNumber
  ) {
    var given = cookies(of: directory)
    var taken = Set(given.values)
    for (name, choice) in choices {
      let place = InodeName(directory: directory, name: name)
      guard changes[place] != nil, given[name] == nil else { continue }
      // Beyond the eighth, the recorded tree has no place and is made again with other cookies.
      var cookie = choice.own ?? choice.first
      while choice.taken.contains(cookie) || taken.contains(cookie) { cookie = cookie.next }
      taken.insert(cookie)
      given[name] = cookie
    }
    cookies[directory] = given
  }

  /// A recorded name has the cookie of its entry.
  mutating func forgetCookie(of place: InodeName) {
    guard cookies[place.directory]?[place.name] != nil else { return }
    cookies[place.directory]?[place.name] = nil
    if cookies[place.directory]?.isEmpty ?? false { cookies[place.directory] = nil }
  }
}
