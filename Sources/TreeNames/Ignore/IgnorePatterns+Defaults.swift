extension IgnorePatterns {
  /// What a new store ignores: swap, backup and lock files that editors leave beside a file.
  ///
  /// Left out on purpose are names that people also give to files of their own, as long as rules for
  /// versions keep them out anyway: what is made and gone between two cuts (vim's `4913`), and temporary
  /// files that are renamed over their target (`sed` -i, rsync's `.name.XXXXXX`, `lu*.tmp`). Were such a
  /// name ignored, a story called `sedatives`, message 4913 of a mail folder or a game's `slot.save`
  /// would silently never be kept.
  /// The setting that keeps a store's own patterns.
  package static let settingName = "ignore"

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
    # removed but open: NFS, FUSE
    .nfs*
    .fuse_hidden*

    """.utf8)

  /// The compiled defaults.
  package static let defaults = IgnorePatterns(defaultText)
}
