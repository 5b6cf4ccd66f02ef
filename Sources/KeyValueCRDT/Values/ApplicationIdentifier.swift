/// Which application's data a database holds, and in which version.
public struct ApplicationIdentifier: Codable, Hashable, Comparable, Sendable {
  /// The application, as a domain name backwards, for example `org.example.notes`.
  public var id: String
  /// The version of the data that older programs cannot read.
  public var majorVersion: Int
  /// The version of the data that older programs can read.
  public var minorVersion: Int
  /// The application's name for people, if it gives one.
  public var applicationDescription: String?

  /// Creates an identifier.
  public init(
    id: String, majorVersion: Int, minorVersion: Int, applicationDescription: String? = nil
  ) {
    self.id = id
    self.majorVersion = majorVersion
    self.minorVersion = minorVersion
    self.applicationDescription = applicationDescription
  }

  /// Orders by id, then by major and minor version.
  public static func < (left: ApplicationIdentifier, right: ApplicationIdentifier) -> Bool {
    (left.id, left.majorVersion, left.minorVersion)
      < (right.id, right.majorVersion, right.minorVersion)
  }

  /// The relation of a file's data to the data that a program expects.
  public enum ComparisonResult: Hashable, Sendable {
    /// The program reads the data as they are.
    case compatible
    /// The data belong to another application.
    case incompatible
    /// The data are older and must be upgraded first, or the file has none yet.
    case requiresUpgrade
    /// The data are of a later major version than the program.
    case currentVersionIsTooOld
  }

  /// Compares what a program expects, the receiver, with what a file has; nil where it has nothing yet.
  public func compare(to other: ApplicationIdentifier?) -> ComparisonResult {
    guard let other else { return .requiresUpgrade }
    guard id == other.id else { return .incompatible }
    guard other.majorVersion <= majorVersion else { return .currentVersionIsTooOld }
    return (other.majorVersion, other.minorVersion) < (majorVersion, minorVersion)
      ? .requiresUpgrade : .compatible
  }
}

/// Upgrades an application's data when a database is opened.
public protocol ApplicationDataUpgrader {
  /// The data that the program reads and writes.
  var expectedApplicationIdentifier: ApplicationIdentifier { get }

  /// Brings the data of a database to the expected version.
  ///
  /// It is called when the database has older data, or says nothing of an application yet. Afterwards the
  /// database has the expected identifier. All of its writes are one transaction: if it throws, none of
  /// them was made. It must write on the thread that it is called on.
  func upgradeApplicationData(in database: KeyValueDatabase) throws
}
