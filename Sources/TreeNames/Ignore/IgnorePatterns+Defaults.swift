extension IgnorePatterns {
  /// The setting with a store's own patterns.
  package static let settingName = "ignore"

  /// The patterns of a new store: files that editors and systems leave next to others.
  ///
  /// It omits names of temporary files that people also use: ignored, a story called `sedatives` or message 4913 of
  /// a mail folder would silently never be kept. Such temporary files are usually removed before the next cut.
  package static let defaultText = Array(
    """
    # Files that never enter a version: kept here, never sent. Lines as in .gitignore.
    # Files that are in a version already stay versioned.

    # vim, neovim, nano: swap files and their probes
    .*.sw[a-px]
    .*.swpx
    .sw[a-px]
    .swpx
    # vim, emacs, joe, kate, gedit: backups and undo files
    *~
    # emacs: auto-save and lock files
    \\#*#
    .#*
    # kate, kwrite
    .*.kate-swp
    # gedit and other GNOME programs, while saving
    .goutputstream-*
    # LibreOffice, Microsoft Office: locks
    .~lock.*#
    ~$*
    # JetBrains, while saving
    *___jb_tmp___
    *___jb_old___
    # browsers, while a file is fetched
    *.crdownload
    *.part
    *.partial
    # SQLite: memory that programs with an open database share
    *-shm
    # the trash of Linux, macOS and Windows
    .Trash-[0-9]*/
    .Trashes/
    $RECYCLE.BIN/
    # how a system shows a directory
    .DS_Store
    ._.DS_Store
    .directory
    Thumbs.db
    [Dd]esktop.ini
    # removed but open: NFS, FUSE
    .nfs*
    .fuse_hidden*

    """.utf8)

  package static let defaults = IgnorePatterns(defaultText)
}
