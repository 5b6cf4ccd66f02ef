// How a C callback becomes a call: recover the object, wrap the pointers, build the reply, call ONE
// method. The callbacks are literals that capture nothing and run on libfuse's threads.

import CFuse3
import Glibc
import Synchronization

/// What the C side holds: retained when the session is made, released after it is destroyed.
final class SessionBox: Sendable {
  // A class existential: one pointer to the object and one to its method table, nothing is boxed.
  let operations: any FuseOperations
  let connection: ConnectionOptions
  let parked = ParkedRequests()
  let privileges = PrivilegeAgreement()
  /// Set while the session serves.
  let loop = Mutex<RequestLoop?>(nil)

  init(operations: any FuseOperations, connection: ConnectionOptions) {
    self.operations = operations
    self.connection = connection
  }
}

/// The file system that a request is for.
func operations(_ request: fuse_req_t?) -> any FuseOperations {
  guard let pointer = unsafe fuse_req_userdata(request) else {
    preconditionFailure("libfuse sent a request without the session's own data.")
  }
  return unsafe Unmanaged<SessionBox>.fromOpaque(pointer).takeUnretainedValue().operations
}

/// A name's bytes, without the zero that ends it. Valid only during the callback.
func bytes(_ name: UnsafePointer<CChar>?) -> UnsafeRawBufferPointer {
  guard let name = unsafe name else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
  return unsafe UnsafeRawBufferPointer(start: name, count: strlen(name))
}

/// The open file of a request; handle 0 where the kernel gave none.
func file(_ info: UnsafeMutablePointer<fuse_file_info>?) -> OpenFile {
  guard let info = unsafe info else { return OpenFile(handle: HandleID(0)) }
  return unsafe OpenFile(info.pointee)
}

/// The open file of a request that may come without one.
func optionalFile(_ info: UnsafeMutablePointer<fuse_file_info>?) -> OpenFile? {
  guard let info = unsafe info else { return nil }
  return unsafe OpenFile(info.pointee)
}

/// Open flags of an OPEN or CREATE.
func flags(_ info: UnsafeMutablePointer<fuse_file_info>?) -> Int32 {
  (unsafe info?.pointee.flags ?? 0) & ~PrivilegeAgreement.mark
}

/// Whether an OPEN says that set-user-id and set-group-id bits are to go.
func clearsSetIDs(_ info: UnsafeMutablePointer<fuse_file_info>?) -> Bool {
  (unsafe info?.pointee.flags ?? 0) & PrivilegeAgreement.mark != 0
}
