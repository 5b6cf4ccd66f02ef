extension IgnorePatterns {
  /// The name of the setting that holds a store's own patterns.
  package static let settingName = "ignore"

  /// The patterns of a new store: swap, backup and lock files that editors leave next to a file, the
  /// trash, and files in which systems keep how a directory is shown.
  ///
  /// Some names of temporary files are left out on purpose, since people also give them to files of
  /// their own, and other rules keep the temporary files out of versions: a file that is made and
  /// removed between two cuts (vim's `4913`) is in no version, nor is a temporary file that is
  /// renamed over its target (`sed` -i, rsync's `.name.XXXXXX`, `lu*.tmp`). Were such names
  /// ignored, a story called `sedatives`, message 4913 of a mail folder or a game's `slot.save`
  /// would never be kept, and no message would say so.
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

  /// The parsed ``defaultText``, for a store without patterns of its own.
  package static let defaults = IgnorePatterns(defaultText)
}
