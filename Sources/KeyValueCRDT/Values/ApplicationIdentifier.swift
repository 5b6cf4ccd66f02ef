/// The application whose data a database holds, with the version of the data.
public struct ApplicationIdentifier: Codable, Hashable, Comparable, Sendable {
  /// The application, as a reversed domain name, for example `org.example.notes`.
  public var id: String
  /// The version of the data that older programs cannot read.
  public var majorVersion: Int
  /// The version of the data that older programs can read.
  public var minorVersion: Int
  public var applicationDescription: String?

  public init(
    id: String, majorVersion: Int, minorVersion: Int, applicationDescription: String? = nil
  ) {
    self.id = id
    self.majorVersion = majorVersion
    self.minorVersion = minorVersion
    self.applicationDescription = applicationDescription
  }

  public static func < (left: ApplicationIdentifier, right: ApplicationIdentifier) -> Bool {
    (left.id, left.majorVersion, left.minorVersion)
      < (right.id, right.majorVersion, right.minorVersion)
  }

  /// The relation of a file's data to the data that a program expects.
  public enum ComparisonResult: Hashable, Sendable {
    case compatible
    case incompatible
    /// The data are older and must be upgraded first, or the file has none yet.
    case requiresUpgrade
    /// The data are of a later major version than the program.
    case currentVersionIsTooOld
  }

  /// Compares the expected data, the receiver, with a file's; nil if the file has none yet.
  public func compare(to other: ApplicationIdentifier?) -> ComparisonResult {
    guard let other else { return .requiresUpgrade }
    guard id == other.id else { return .incompatible }
    guard other.majorVersion <= majorVersion else { return .currentVersionIsTooOld }
    return (other.majorVersion, other.minorVersion) < (majorVersion, minorVersion)
      ? .requiresUpgrade : .compatible
  }
}

public protocol ApplicationDataUpgrader {
  var expectedApplicationIdentifier: ApplicationIdentifier { get }
  /// Called when the database has older data or none of an application; it then gets the expected identifier.
  /// All writes are one transaction. They must be made on the calling thread.
  /// - Throws: any error, which leaves the file unchanged.
  func upgradeApplicationData(in database: KeyValueDatabase) throws
}
