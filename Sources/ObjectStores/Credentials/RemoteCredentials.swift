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

  package var description: String { "credentials" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
