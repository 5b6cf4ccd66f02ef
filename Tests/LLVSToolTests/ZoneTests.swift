import TestSupport
import Testing

/// Callers in other time zones than the daemon's.
@Suite(
  "Times in the caller's zone", .timeLimit(.minutes(2)), .enabled(if: MountedStore.isPossible))
struct ZoneTests {
  @Test(
    "at/TIME means the same time to a command that reads and to one that the daemon carries out")
  func callers() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let result = try mounted.shell(
        """
        llvs() { '\(MountedStore.program)' "$@"; }
        echo v1 > x; llvs commit -q one; sleep 1.1; T=$(date +%s); sleep 1.1
        echo v2 > x; llvs commit -q two
        for zone in Asia/Tokyo America/New_York UTC; do
          export TZ=$zone; at=at/$(date -d @$T +%Y-%m-%dT%H:%M:%S)
          llvs show "$at:x"; llvs restore "$at" x -q; cat x; llvs undo -q; llvs diff --name-only "$at" head
        done
        echo a > 27:x; llvs commit -q; llvs show at/@9999999999:27:x
        llvs show at/soon:x; llvs restore at/soon x
        """)
      let refusal =
        "is not a time; a time is written like yesterday, \"tuesday 14:00\", \"2 hours ago\", -2h, "
        + "2026-05-01 or 2026-05-01T10:22.\n"
      let rounds = String(repeating: "v1\nv1\nx\n", count: 3)
      #expect(
        result.output
          == "\(rounds)a\nllvs: \"soon\" \(refusal)llvs: \"soon\" \(refusal)",
        "\(result.output)")
    }
  }
}
