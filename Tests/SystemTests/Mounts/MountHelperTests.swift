import Foundation
import Platform
import TestSupport
import Testing

extension Mounted {
  /// `mount -t fuse.llvs`: mount(8) itself, which calls the mount helper.
  @Suite(
    .serialized, .enabled(if: SystemProcess.effectiveUser == 0, "needs a place in /usr/sbin"))
  struct MountHelperTests {
    /// Runs a script that has mounts of its own, in which the helper is installed, in a directory with a mount
    /// point `m`; `options` prints those of what is mounted there.
    private func run(_ script: String) throws -> ShellResult {
      let directory = try TemporaryDirectory()
      let tools = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../mount-scripts/mount.llvs").standardized.path
      return try TestSupport.shell(
        """
        mkdir m tools; cp '\(tools)' tools/mount.llvs; cp '\(tools)' tools/mount.fuse.llvs
        ln -s '\(MountedStore.program)' tools/llvs
        cat > script <<'END'
        mount -t overlay -o lowerdir="$PWD/tools:/usr/sbin" none /usr/sbin || exit 77
        options() { grep " $PWD/m " /proc/self/mountinfo | cut -d' ' -f6; }
        super() { grep " $PWD/m " /proc/self/mountinfo | sed 's/.* - //' | cut -d' ' -f3; }
        \(script)
        END
        exec unshare -m bash script
        """, in: directory.path, seconds: 50)
    }

    /// The lines that a script printed; nil where mounts cannot be made as it needs.
    private func lines(_ script: String) throws -> [String]? {
      let result = try run(script)
      guard result.status != 77 else { return nil }
      #expect(result.status == 0, "\(result.output)")
      return result.output.split(separator: "\n").map(String.init)
    }

    @Test(
      "What root mounts has devices and set-ID programs, as asked for and as by default",
      .timeLimit(.minutes(1)))
    func devices() throws {
      guard
        let lines = try lines(
          """
          mount -t fuse.llvs -o allow_other,dev,suid,exec s m; options
          mknod m/null c 1 3; echo x > m/null && echo device; umount m
          mount -t llvs s m; options; umount m
          mount -t fuse.llvs -o nosuid,nodev,noexec s m; options; umount m
          """)
      else { return }
      #expect(
        lines == ["rw,relatime", "device", "rw,relatime", "rw,nosuid,nodev,noexec,relatime"])
    }

    @Test(
      "Every option that mount(8) hands to ext4 is taken, and nothing is said",
      .timeLimit(.minutes(1)))
    func generalOptions() throws {
      let words = "relatime,iversion,silent,mand,x-foo=bar,_netdev,comment=x,nofail,sync,dirsync"
      guard
        let lines = try lines(
          """
          mount -t fuse.llvs -o \(words) s m; options; super | cut -d, -f1-3; umount m
          for word in nodiratime strictatime lazytime nosymfollow noatime noiversion loud nomand; do
            mount -t fuse.llvs -o $word s m || echo "$word fails"; echo "$word $(options) $(super)"; umount m
          done
          """)
      else { return }
      let own = "user_id=0,group_id=0,default_permissions"
      #expect(
        lines == [
          "rw,relatime", "rw,sync,dirsync", "nodiratime rw,nodiratime,relatime rw,\(own)",
          "strictatime rw rw,\(own)", "lazytime rw,relatime rw,lazytime,\(own)",
          "nosymfollow rw,relatime,nosymfollow rw,\(own)", "noatime rw,noatime rw,\(own)",
          "noiversion rw,relatime rw,\(own)", "loud rw,relatime rw,\(own)",
          "nomand rw,relatime rw,\(own)",
        ])
    }

    @Test("remount gives a mount other options", .timeLimit(.minutes(1)))
    func remounted() throws {
      guard
        let lines = try lines(
          """
          mount -t fuse.llvs -o allow_other s m; echo x > m/f
          mount -o remount,ro m; options; ! touch m/f 2> /dev/null && cat m/f
          mount -o remount,rw,noatime,nodev m; options; touch m/f && echo written
          mount -o remount,foo=1 m 2>&1; echo $?; options; umount m
          """)
      else { return }
      #expect(
        lines == [
          "ro,relatime", "x", "rw,nodev,noatime", "written",
          "llvs: there is no mount option foo=1.", "2", "rw,nodev,noatime",
        ])
    }

    @Test(
      "A word that is no option is named, and no store is made", .timeLimit(.minutes(1)))
    func misspelt() throws {
      guard
        let lines = try lines(
          """
          mount -t fuse.llvs -o alow_other s m 2>&1; echo $?; ls -d s 2> /dev/null
          llvs mount s m -o foo,bar=3 2>&1; echo $?; ls -d s 2> /dev/null; echo end
          """)
      else { return }
      #expect(
        lines == [
          "llvs: there is no mount option alow_other.", "2", "llvs: there is no mount option foo.",
          "2", "end",
        ])
    }
  }
}
