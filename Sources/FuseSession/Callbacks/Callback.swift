import CFuse3
import Glibc
import Synchronization

/// The object behind libfuse's user data pointer, released after the session is destroyed.
final class SessionBox: Sendable {
  // A class existential: one pointer to the object and one to its method table; nothing is boxed.
  let operations: any FuseReading
  /// The same object; nil for a read-only file system.
  let writable: (any FuseOperations)?
  let connection: ConnectionOptions
  let parked = ParkedRequests()
  let privileges = PrivilegeAgreement()
  /// Set while the session serves requests.
  let loop = Mutex<RequestLoop?>(nil)

  init(operations: any FuseReading, connection: ConnectionOptions) {
    self.operations = operations
    writable = operations as? any FuseOperations
    self.connection = connection
  }
}

private func box(_ request: fuse_req_t?) -> SessionBox {
  guard let box = unsafe RequestPointer(raw: request).userData else {
    preconditionFailure("libfuse sent a request without the session's own data.")
  }
  return box
}

func operations(_ request: fuse_req_t?) -> any FuseReading { unsafe box(request).operations }

func writable(_ request: fuse_req_t?) -> any FuseOperations {
  guard let writable = unsafe box(request).writable else {
    preconditionFailure("A read-only file system has no callbacks for changes.")
  }
  return writable
}

/// Returns a name's bytes, valid only during the callback.
func bytes(_ name: UnsafePointer<CChar>?) -> UnsafeRawBufferPointer {
  guard let name = unsafe name else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
  return unsafe UnsafeRawBufferPointer(start: name, count: strlen(name))
}

/// The handle is 0 if the kernel gave none.
func file(_ info: UnsafeMutablePointer<fuse_file_info>?) -> OpenFile {
  unsafe OpenFile(info?.pointee ?? fuse_file_info())
}

func optionalFile(_ info: UnsafeMutablePointer<fuse_file_info>?) -> OpenFile? {
  unsafe info.map { unsafe OpenFile($0.pointee) }
}

func flags(_ info: UnsafeMutablePointer<fuse_file_info>?) -> Int32 {
  (unsafe info?.pointee.flags ?? 0) & ~PrivilegeAgreement.mark
}

func clearsSetIDs(_ info: UnsafeMutablePointer<fuse_file_info>?) -> Bool {
  (unsafe info?.pointee.flags ?? 0) & PrivilegeAgreement.mark != 0
}
