enum MetaText {
  /// The help, which fits on one screen.
  static let readme = Array(
    """
    This is a versioned directory. Everything you save becomes part of a version by itself, a
    moment after you stop writing. `.llvs` is in every directory, and in no listing.

      control             write one command per line; read it for status
                            echo commit > .llvs/control       make a version now
                            echo "commit why" > .llvs/control the same with a message
                            echo sync > .llvs/control         commit, retrieve, merge, send
                            echo undo > .llvs/control         go back one step; redo goes forward
                            (echo help >&3; cat <&3) 3<>.llvs/control
                                                              all commands; llvs help says more
      status, status.json how things stand, for people and for programs
      log                 one line per version, merge, exchange and error, newest last
      head                the version that this tree continues from
      heads/              versions that are not merged yet
      branches/NAME       the newest version of each named line
      tags/NAME           versions with lasting names
      versions/V/         every version as a read-only directory; an id, or its beginning, works too
      at/TIME             what was here then: 2026-05-01, 2026-05-01T10:22, yesterday, -2h
      history/PATH/V      the distinct revisions of one file
      conflicts/PATH/     base, ours and theirs of what clashed; write the file, edit merged, or rm -r
                          this, to settle
      peers/NAME          write an address to add a peer, edit it to change it, rm it to forget it;
                          a directory, a server, or plain+ and a directory for the original LLVS
      ignore              patterns of files that never enter a version

    In a subdirectory these names show that subdirectory, so:

      diff -r .llvs/at/yesterday .
      cp .llvs/versions/V/notes.txt .
      ls -l .llvs/history/notes.txt

    A file that two versions share is one file in both: diff and cmp do not read it twice. So copy
    one version at a time: a single `cp -a` of several makes hard links between them.
    In a version, `.llvs` has info, parents and changes.

    """.utf8)
}
