import Platform
import Testing

struct KindsTests {
  @Test("every kind of remote that is here is named, and what is not here is told")
  func kinds() {
    let names = StoreUnderTest.all.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names { print("kind: \(name)") }
    let servers = ["apache", "nginx", "rclone-webdav", "moto", "rclone-s3", "rclone"]
    let missing = servers.filter { !names.contains($0) }
    if !missing.isEmpty {
      print(
        "These are not here and not tried: \(missing.joined(separator: ", ")). "
          + "mount-scripts/test-remotes runs them.")
    }
  }
}
