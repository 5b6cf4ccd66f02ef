import Foundation
import LLVSModel

/// A contact; each is a value of JSON under `ID/Contact`.
struct Contact: StorableModel, Mergeable {
  static let modelTypeIdentifier = "Contact"

  var name: String
  var phone = ""
  var email = ""
  var address = Address()

  struct Address: Codable, Mergeable {
    var street = ""
    var city = ""

    func merged(withSubordinate other: Address, commonAncestor: Address) throws -> Address {
      Address(
        street: try mergeProperty(street, other.street, commonAncestor.street),
        city: try mergeProperty(city, other.city, commonAncestor.city))
    }
  }

  func merged(withSubordinate other: Contact, commonAncestor: Contact) throws -> Contact {
    Contact(
      name: try mergeProperty(name, other.name, commonAncestor.name),
      phone: try mergeProperty(phone, other.phone, commonAncestor.phone),
      email: try mergeProperty(email, other.email, commonAncestor.email),
      address: try mergeProperty(address, other.address, commonAncestor.address))
  }

  /// The names of the fields that a person can change.
  static let fields = ["name", "phone", "email", "street", "city"]

  static func field(_ name: String) -> WritableKeyPath<Contact, String>? {
    switch name {
    case "name": \.name
    case "phone": \.phone
    case "email": \.email
    case "street": \.address.street
    case "city": \.address.city
    default: nil
    }
  }
}
