/// The credentials of a user at a remote.
/// INVARIANT: printing them, also as a part of something else, shows no secrets.
package struct RemoteCredentials: Hashable, Sendable, CustomStringConvertible,
  CustomDebugStringConvertible, CustomReflectable
{
  package var user: String?
  package var password: String?
  package var accessKey: String?
  package var secretKey: String?
  package var sessionToken: String?

  package init(
    user: String? = nil, password: String? = nil, accessKey: String? = nil,
    secretKey: String? = nil, sessionToken: String? = nil
  ) {
    self.user = user
    self.password = password
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
  }

  package var description: String { "credentials" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
