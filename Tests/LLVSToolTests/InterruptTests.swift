import Foundation
import TestSupport
import Testing

/// Ctrl-C ends an exchange within a second, however slow the remote is, and what was done is told.
@Suite("Ctrl-C", .serialized, .timeLimit(.minutes(4)))
struct InterruptTests {
  static let canTrace = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")

  /// Twenty versions to send, and words that have strace(1) delay each rename by 0.3 s.
  private static let setup = """
    exec 2> /dev/null; set -m; mkdir d hub; llvs init s -q
    for i in $(seq 20); do echo $i > d/a; llvs import d --store s -q; done
    llvs peer hub "plain+$PWD/hub" -q --store s
    renames=rename,renameat,renameat2
    slow="-f -o /dev/null -e trace=$renames -e inject=$renames:delay_enter=300000"
    now() { date +%s%N; }
    # Interrupts a process, and says how it ended and whether that took less than 1.3 s.
    interrupt() { # PROCESS JOB
      start=$(now); kill -${signal-INT} "$1"; wait "$2"; code=$?
      took=$(( ($(now) - start) / 1000000 )); [ $took -lt 1300 ] && echo "$code quick" || echo "$code $took ms"
    }

    """

  @Test("a send to a folder where each rename takes 0.3 s", .enabled(if: canTrace))
  func slowRenames() throws {
    let result = try Tool().run(
      Self.setup + """
        strace $slow '\(MountedStore.program)' send hub --store s > out 2> err &
        sleep 4; interrupt "$(pgrep -P $! llvs)" $!
        cat out err; ls hub/versions | wc -l
        llvs send --store s; ls -A hub
        """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count >= 5, "\(result.output)")
    #expect(lines[0] == "130 quick", "\(result.output)")
    #expect(result.output.contains("llvs: interrupted"), "\(result.output)")
    #expect(Int(lines.dropLast(3).last ?? "").map { $0 < 20 } == true, "\(result.output)")
    #expect(lines.suffix(3).first?.hasPrefix("hub: sent ") == true)
    #expect(lines.suffix(2) == ["changes", "versions"], "\(result.output)")
  }

  @Test("the same of a mounted store", .enabled(if: canTrace && MountedStore.isPossible))
  func mounted() throws {
    let result = try Tool().run(
      Self.setup + """
        mkdir m; llvs mount s m -q; trap 'llvs unmount m -q' EXIT
        strace $slow -p "$(head -1 s/lock | grep -o '[0-9]*' | head -1)" 2> /dev/null & tracer=$!
        sleep 1; '\(MountedStore.program)' send hub --store s > out 2> err & tool=$!
        sleep 3; llvs status --store s | grep -c 'Now running: send hub: hub: sending'
        interrupt $tool $tool
        kill $tracer; wait $tracer; cat out err
        """)
    #expect(result.output.hasPrefix("1\n130 quick\n"), "\(result.output)")
    #expect(result.output.contains("llvs: interrupted"), "\(result.output)")
  }

  @Test(
    "an export removes what it wrote, and the next backup continues",
    .enabled(if: canTrace))
  func copies() throws {
    let result = try Tool().run(
      Self.setup + """
        slow() { # CALLS COMMAND...
          local calls=$1; shift
          strace -f -o /dev/null -e trace=$calls -e inject=$calls:delay_enter=300000 "$@" > out 2> err &
          sleep 3; interrupt "$(pgrep -P $! llvs)" $!; cat out err
        }
        mkdir -p $(seq -f d/%g 20); llvs import d --into x --store s -q; mkdir old
        slow mkdir,mkdirat '\(MountedStore.program)' export head new --store s
        signal=TERM slow mkdir,mkdirat '\(MountedStore.program)' export head old --store s
        ls -d new old; ls -A old
        slow fdatasync,fsync '\(MountedStore.program)' backup copy --store s
        ls copy; llvs backup copy --store s > out; echo $?; llvs verify --store copy; echo $?
        """)
    #expect(
      result.output.wholeMatch(
        of:
          /130 quick\nllvs: interrupted; what was written into new is removed\.\n143 quick\nllvs: interrupted; what was written into old is removed\.\nold\n130 quick\nllvs: interrupted; copy holds a part of the copy; the same command continues\.\njournal\.part\nsegments\nstore.sqlite.part\n0\nno damage found: [^\n]*\n0\n/
      ) != nil, "\(result.output)")
  }

  @Test(
    "an import that copies ignored files says that its version is made",
    .enabled(if: canTrace && MountedStore.isPossible))
  func ignoredFiles() throws {
    let result = try Tool().run(
      Self.setup + """
        for i in $(seq 40); do echo $i > d/$i.o; done
        mkdir m; llvs mount s m -q; trap 'llvs unmount m -q' EXIT; llvs ignore '*.o' --mount m -q
        strace -f -o /dev/null -e trace=ftruncate -e inject=ftruncate:delay_enter=300000 \
          '\(MountedStore.program)' import d --into new -m brought --mount m > out 2> err &
        sleep 4; interrupt "$(pgrep -P $! llvs)" $!; cat out err
        llvs log --grep '^brought$' --oneline --mount m | wc -l
        """)
    let lines = result.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 3, "\(result.output)")
    #expect(lines[0] == "130 quick" && lines[2] == "1", "\(result.output)")
    #expect(
      lines[1].hasPrefix("llvs: interrupted; the version is made, but not all ignored files"))
  }

  @Test("an export to a disk that is full removes what it wrote", .enabled(if: canTrace))
  func fullDisk() throws {
    let result = try Tool().run(
      Self.setup + """
        seq 9 | while read n; do echo $n > d/$n; done; llvs import d --store s -q; mkdir old
        for target in new old; do
          strace -f -o /dev/null -P $PWD/$target/5 -e trace=pwrite64 -e inject=pwrite64:error=ENOSPC \
            '\(MountedStore.program)' export head $target --store s 2>&1; echo $?
        done
        ls -d new old; ls -A old
        """)
    #expect(
      result.output.wholeMatch(
        of:
          /llvs: [^\n]*No space left on device; what was written into new is removed\.\n7\nllvs: [^\n]*; what was written into old is removed\.\n7\nold\n/
      ) != nil, "\(result.output)")
  }

  @Test(
    "a server that takes a request and does not answer, or not to its end",
    arguments: ["http+webdav", "s3+http"],
    ["", "HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\n<?xml"])
  func stalledServer(_ scheme: String, _ answer: String) throws {
    let result = try Tool().run(
      Self.setup + """
        python3 -c 'import socket, time
        s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(9)
        print(s.getsockname()[1], flush=True)
        s.accept()[0].close(); held = s.accept()[0]; held.recv(65536); held.sendall(b"\(answer)")
        print("asked", flush=True); time.sleep(80)' > said & server=$!
        trap 'kill $server' EXIT
        while ! [ -s said ]; do sleep 0.1; done
        export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b
        llvs peer far "\(scheme)://127.0.0.1:$(head -1 said)/x/y" -q --store s
        '\(MountedStore.program)' sync far --store s > out 2> err & tool=$!
        while ! grep -q asked said; do sleep 0.1; done
        kill -INT $tool; wait $tool; echo $?
        # It still holds the request, so nothing but Ctrl-C has ended the command.
        kill -0 $server && echo stalls; cat err
        """)
    #expect(result.output.hasPrefix("130\nstalls\nllvs: interrupted"), "\(result.output)")
  }
}
