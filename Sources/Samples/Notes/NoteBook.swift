import Foundation
import KeyValueCRDT

/// The notes of a document: texts without a scope, each under its name.
struct NoteBook {
  private let database: KeyValueDatabase

  init(file: URL) throws {
    database = try KeyValueDatabase(
      fileURL: file, authorDescription: ProcessInfo.processInfo.hostName)
  }

  /// The names of all notes, each with the number of its versions.
  func all() throws -> [(name: String, versionCount: Int)] {
    try database.keys(scope: "").map {
      ($0.key, try database.read(key: $0.key, scope: $0.scope).count)
    }
  }

  /// The texts of a note's versions, oldest first; several if devices changed it apart.
  func texts(of name: String) throws -> [String] {
    try database.read(key: name).map { $0.value.text ?? "" }
  }

  /// Adds a line to a note, or begins one.
  func add(_ line: String, to name: String) throws {
    try database.writeText((try database.read(key: name).text ?? "") + line + "\n", to: name)
  }

  /// Replaces words of a note; false if they are not in it.
  func replace(_ old: String, in name: String, by new: String) throws -> Bool {
    guard let text = try database.read(key: name).text, text.contains(old) else { return false }
    try database.writeText(text.replacing(old, with: new), to: name)
    return true
  }

  /// Keeps one of a note's versions, counted from 1; returns false if there is no such version.
  func keep(_ number: Int, of name: String) throws -> Bool {
    let versions = try database.read(key: name)
    guard versions.indices.contains(number - 1), let text = versions[number - 1].value.text else {
      return false
    }
    try database.writeText(text, to: name)
    return true
  }

  /// The names of notes that have all words.
  func names(withWords words: String) throws -> [String] {
    try database.searchText(for: words).map(\.key).sorted()
  }
}
