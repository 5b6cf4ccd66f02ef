import Foundation
import TestSupport
import Testing

extension Mounted {
  /// A program of the library's and a mounted store, which meet in a folder and on servers.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct LibraryTourTests {
    /// A place where both exchange.
    struct Place: CustomTestStringConvertible, Sendable {
      var testDescription: String
      var address: String
      /// What programs find credentials by.
      var environment: [String: String] = [:]
    }

    /// The servers that `mount-scripts/servers` runs, as far as they do: `LLVS_TEST_SERVERS` names
    /// its file.
    private static let servers: [Place] = {
      let file = ProcessInfo.processInfo.environment["LLVS_TEST_SERVERS"] ?? ""
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      return text.split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 4, words[1].contains("://") else { return nil }
        let isS3 = words[1].hasPrefix("s3")
        return Place(
          testDescription: words[0], address: words[1],
          environment: isS3
            ? ["AWS_ACCESS_KEY_ID": words[2], "AWS_SECRET_ACCESS_KEY": words[3]]
            : ["user": words[2], "password": words[3]])
      }
    }()

    static let places = [Place(testDescription: "folder", address: "")] + servers

    /// The book of contacts, run as a person would.
    private func loCo(
      _ mounted: MountedStore, _ arguments: String, _ environment: [String: String], status: Int = 0
    ) throws -> String {
      let result = try shell(
        "'\(MountedStore.program("LoCo"))' \(arguments)", in: mounted.directory,
        environment: environment)
      try #require(result.status == status, "LoCo \(arguments): \(result.output)")
      return result.output
    }

    /// Puts the credentials where both programs look for them, and returns the address.
    private func prepare(_ place: Place, _ mounted: MountedStore) throws -> (
      String, [String: String]
    ) {
      guard !place.address.isEmpty else { return (mounted.directory + "/cloud", [:]) }
      var environment = place.environment
      if let user = environment.removeValue(forKey: "user"),
        let password = environment.removeValue(forKey: "password")
      {
        let file = mounted.directory + "/netrc"
        try "machine 127.0.0.1 login \(user) password \(password)\n"
          .write(toFile: file, atomically: true, encoding: .utf8)
        environment["NETRC"] = file
      }
      // Each test has a place of its own.
      return ("\(place.address)/tour-\(UUID().uuidString.prefix(8))", environment)
    }

    @Test(
      "a contact that vim changes in the mount and a program changes elsewhere is merged",
      arguments: places, [true, false])
    func tour(_ place: Place, mergedByProgram: Bool) throws {
      let laptop = try MountedStore()
      defer { laptop.tearDown() }
      let (cloud, environment) = try prepare(place, laptop)
      try laptop.mount(environment: environment)
      func phone(_ arguments: String) throws -> String {
        try loCo(laptop, "phone.llvs \(arguments)", environment)
      }
      func sync() throws {
        try laptop.run("printf 'sync\\n' > .llvs/control; cat .llvs/control")
      }
      _ = try phone("add ann Ann")
      _ = try phone("add bob Bob")
      _ = try phone("sync '\(cloud)'")
      try laptop.run("printf '%s' '\(cloud)' > .llvs/peers/cloud")
      try sync()
      #expect(try laptop.run("ls").split(separator: "\n") == ["ann", "bob"])
      // Both change the same contact, and each does something else besides.
      try laptop.run(
        #"""
        vim -N -u NONE -i NONE -es -c '%s/"city":""/"city":"Delft"/' -c wq ann/Contact
        grep -q Delft ann/Contact
        rm -r bob
        """#)
      _ = try phone("set ann phone 1234")
      _ = try phone("add cid Cid")
      let list = "ann\tAnn\t1234\t\t\tDelft\ncid\tCid\t\t\t\t\n"
      if mergedByProgram {
        try sync()
        _ = try phone("sync '\(cloud)'")
        #expect(try phone("") == list)
        try sync()
      } else {
        _ = try phone("sync '\(cloud)'")
        try sync()
        _ = try phone("sync '\(cloud)'")
        #expect(try phone("") == list)
      }
      #expect(try laptop.run("ls").split(separator: "\n") == ["ann", "cid"])
      let contact = try laptop.run("cat ann/Contact")
      #expect(contact.contains("\"1234\"") && contact.contains("\"Delft\""))
      #expect(try laptop.run("ls .llvs/heads | wc -l").contains("1"))
      #expect(try laptop.run("ls -A .llvs/conflicts").isEmpty)
    }

    @Test("a program reads a mounted store, and is told who has it when it writes")
    func mounted() throws {
      let laptop = try MountedStore()
      defer { laptop.tearDown() }
      _ = try loCo(laptop, "store add ann Ann", [:])
      try laptop.mount()
      func merge() throws { try laptop.run("printf 'merge\\n' > .llvs/control; cat .llvs/control") }
      // What others have made is shown once it is merged.
      try merge()
      #expect(try loCo(laptop, "store", [:]) == "ann\tAnn\t\t\t\t\n")
      let refusal = try loCo(laptop, "store set ann city Delft", [:], status: 1)
      #expect(refusal.contains("\(laptop.daemon)"), "\(refusal)")
      #expect(try !laptop.run("cat ann/Contact").contains("Delft"))
      try laptop.run(
        #"""
        vim -N -u NONE -i NONE -es -c '%s/"phone":""/"phone":"12"/' -c wq ann/Contact
        printf 'commit\n' > .llvs/control
        cat .llvs/control
        """#)
      // The daemon's turn ends with the mount.
      try laptop.unmount()
      _ = try loCo(laptop, "store set ann city Delft", [:])
      try laptop.mount()
      try merge()
      let contact = try laptop.run("cat ann/Contact")
      #expect(contact.contains("\"12\"") && contact.contains("Delft"))
      #expect(try laptop.run("ls .llvs/heads | wc -l").contains("1"))
    }
  }
}
