/// The one name that programs cannot use: `.llvs`, which exists in every directory.
package enum ReservedName { package static let bytes = Array(".llvs".utf8) }
