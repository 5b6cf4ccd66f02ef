import Platform
import TestSupport
import Testing

extension Mounted {
  /// Files opened by their numbers.
  @Suite(
    .serialized, .enabled(if: SystemProcess.effectiveUser == 0, "only root opens by handles"),
    .timeLimit(.minutes(1)))
  struct FileHandleTests {
    /// Python that keeps handles in a file, and opens by them.
    private static let handles = """
      import pickle
      def handle(path):
          room = ctypes.create_string_buffer(136)
          struct.pack_into('I', room, 0, 128)
          mount = ctypes.c_int()
          if libc.name_to_handle_at(-100, os.fsencode(path), room, ctypes.byref(mount), 0) != 0:
              raise OSError(ctypes.get_errno(), 'name_to_handle_at')
          return room.raw
      def opened(handle, flags=os.O_RDONLY):
          top = os.open('.', os.O_RDONLY)
          try:
              fd = libc.open_by_handle_at(top, ctypes.create_string_buffer(handle, len(handle)), flags)
          finally:
              os.close(top)
          if fd < 0: raise OSError(ctypes.get_errno(), 'open_by_handle_at')
          return fd
      def content(handle):
          with os.fdopen(opened(handle), 'rb') as file: return file.read().decode()
      def keep(things): put('../handles', pickle.dumps(things))
      def kept(): return pickle.loads(get('../handles'))
      def forget():
          for _ in range(2): put('/proc/sys/vm/drop_caches', '2')


      """

    @Test("Handles last through versions, moves and remounts")
    func lasting() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.python(
          Self.handles + """
            os.makedirs('d/e'); put('d/e/f', 'text'); put('top', 'above'); os.link('top', 'd/also')
            keep({p: handle(p) for p in ('d/e/f', 'top', 'd/e', 'd/also', '.')})
            """)
        try mounted.commit()
        let check =
          Self.handles + """
            handles = kept()
            for _ in range(2):
                same(content(handles['d/e/f']), 'text'); same(content(handles['top']), 'above')
                same(content(handles['d/also']), 'above')
                directory = opened(handles['d/e'])
                same(os.listdir(directory), ['f']); same(os.stat('..', dir_fd=directory).st_ino, os.stat(where).st_ino)
                os.close(directory); os.close(opened(handles['.']))
                forget()
            """
        func look(_ directory: String) throws {
          try mounted.python("where = '\(directory)'\n" + check)
        }
        try look("d")
        try mounted.unmount()
        try mounted.mount()
        try look("d")
        // Moved since, in no version yet, and forgotten below.
        try mounted.run("mv d moved")
        try look("moved")
        try mounted.commit()
        try mounted.unmount()
        try mounted.mount()
        try look("moved")
        try mounted.python(
          Self.handles + """
            os.unlink('moved/e/f')
            raises(errno.ESTALE, opened, kept()['d/e/f'])
            """)
        try mounted.commit()
        try mounted.python(Self.handles + "forget(); raises(errno.ESTALE, opened, kept()['d/e/f'])")
      }
    }

    @Test("A handle of history opens as long as it is known, and is ESTALE then")
    func history() throws {
      try MountedStore.with(stored: ["settle": "1h"]) { mounted in
        try mounted.run("mkdir d; echo text > d/f; echo commit > .llvs/control")
        try mounted.python(
          Self.handles + """
            handles = [handle(p) for p in ('.llvs/head/d/f', '.llvs/control', '.llvs/README')]
            same(content(handles[0]), 'text\\n')
            forget()
            for one in handles:
                try: os.close(opened(one))
                except OSError as error: same(error.errno, errno.ESTALE)
            same(get('.llvs/head/d/f'), b'text\\n')
            """)
      }
    }
  }
}
