import Foundation
import TestSupport
import Testing

/// Names are bytes: what is no UTF-8 can be named on the command line as anything else.
@Suite("llvs and names that are no text", .timeLimit(.minutes(2)))
struct NameBytesTests {
  /// What is asked of a tree in which such names changed; `$at` says where it is.
  private static let script = #"""
    llvs history $'dir\xff/in\xe9' $at | grep -o '[0-9]* bytes'; echo --
    llvs show $'head:dir\xff/in\xe9' $at; llvs show $'head~:dir\xff/in\xe9' $at
    llvs show $'head:dir\xff' $at | od -An -c; echo --
    llvs log --oneline $at $'dir\xff/in\xe9' | wc -l; llvs log --oneline $at -- $'dir\xff/in\xe8' | wc -l
    llvs diff head~ head $'dir\xff/in\xe9' $at | grep '^[-+]'; echo --
    llvs diff head~ head $'dir\xff' --name-only $at
    llvs restore head~ $'dir\xff/in\xe9' $at -q; llvs show $'head:dir\xff/in\xe9' $at; echo --
    llvs show $'head:dir\xfe' $at; echo $?; llvs history $'no\xfe' $at; echo $?
    """#

  private static let expected = #"""
    8 bytes
    4 bytes
    --
    changed
    one
       i   n 351  \n
    --
    2
    0
    --- "a/dir\377/in\351"
    +++ "b/dir\377/in\351"
    -one
    +changed
    --
    dir\377/in\351
    one
    --
    llvs: NAME has no dir\376.
    3
    llvs: no version has a file no\376.
    3

    """#

  private static func told(_ text: String) -> String {
    text.replacing(#/llvs: [^ ]+Z-[^ ]+ has no/#, with: "llvs: NAME has no")
  }

  @Test("a store that is not mounted")
  func stored() throws {
    let tool = try Tool()
    let result = try tool.run(
      #"""
      mkdir -p $'d/dir\xff'; echo one > $'d/dir\xff/in\xe9'; llvs init s -q; llvs import d --store s -q
      echo changed > $'d/dir\xff/in\xe9'; llvs import d --store s -q; at='--store s'
      """# + "\n" + Self.script)
    #expect(Self.told(result.output) == Self.expected, "\(result.output)")
  }

  @Test(
    "a store that is mounted, from the top and from below", .enabled(if: MountedStore.isPossible))
  func mounted() throws {
    try MountedStore.with(settings: ["settle=1h"]) { mounted in
      let result = try mounted.shell(
        #"""
        llvs() { '\#(MountedStore.program)' "$@"; }
        mkdir -p $'dir\xff'; echo one > $'dir\xff/in\xe9'; llvs commit -q
        echo changed > $'dir\xff/in\xe9'; llvs commit -q; at=
        """# + "\n" + Self.script)
      #expect(Self.told(result.output) == Self.expected, "\(result.output)")
      let below = try mounted.shell(
        #"""
        llvs() { '\#(MountedStore.program)' "$@"; }
        cd $'dir\xff'; llvs history $'in\xe9' | wc -l; llvs show $'head:./in\xe9'
        echo pending > $'in\xe9'; echo new > $'\xc3('; llvs diff --name-status
        llvs diff $'in\xe9' | grep '^[-+]'; llvs status | grep '[*+] '
        llvs diff . > ../p; git -C / apply --numstat "$PWD/../p"
        """#)
      #expect(
        below.output == #"""
          3
          one
          * dir\377/in\351
          + dir\377/\303(
          --- "a/dir\377/in\351"
          +++ "b/dir\377/in\351"
          -one
          +pending
            + dir\377/\303(
            * dir\377/in\351
          1	1	"dir\377/in\351"
          1	0	"dir\377/\303("

          """#, "\(below.output)")
    }
  }

  @Test("conflicts are settled by such names too")
  func settled() throws {
    let tool = try Tool()
    let result = try tool.run(
      #"""
      mkdir a b hub; echo base > $'a/\xe9'; llvs init s -q; llvs import a --store s -q
      llvs peer hub "$PWD/hub" -q --store s; llvs sync --store s -q
      llvs init t -q; llvs peer hub "$PWD/hub" -q --store t; llvs sync --store t -q
      echo ours > $'a/\xe9'; llvs import a --store s -q; echo theirs > $'b/\xe9'; llvs import b --store t -q
      llvs sync --store t -q; llvs sync --store s -q
      llvs diff head~~ head --json --store s | grep -o '"path.*"directory'
      llvs conflicts --json --store s | grep -o '"path.*"hasBase'
      llvs conflicts $'\xe9' --store s | wc -l; llvs settle $'\xe9' ours --store s -q; echo $?
      llvs conflicts --store s
      """#)
    let shown = #""path":"\#u{FFFD}","pathBase64":"6Q==","#
    #expect(
      result.output == "\(shown)\"directory\n\(shown)\"hasBase\n1\n0\nno conflicts\n",
      "\(result.output)")
  }

  @Test("a store or a mount point of such a name is refused, and none of another name is made")
  func places() throws {
    let result = try Tool().run(
      #"""
      mkdir $'p\xff' m; at=$'s\xff'
      try() { llvs "$@" > /dev/null 2> said; echo "$? $(grep -c 'is not UTF-8\|multibyte' said)"; }
      try init "$at"; try mount "$at" m; try mount s $'p\xff'; try log --store "$at"
      try log --store="$at"; try log --mount $'p\xff'; try unmount $'p\xff'
      llvs init s -q; try backup $'b\xff' --store s
      cp -r s "$at"; ln -s "$at" link; try log --store link; ls | wc -l
      """#)
    #expect(
      result.output == String(repeating: "2 1\n", count: 8) + "6 1\n6\n", "\(result.output)")
  }
}
