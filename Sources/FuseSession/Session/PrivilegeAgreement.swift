// FUSE_HANDLE_KILLPRIV_V2: the file system clears set-user-id and set-group-id bits itself.
//
// Without it the kernel reads `security.capability` before every write(2), in a round trip. With it, the kernel
// reads it once for each inode, and WRITE, OPEN and SETATTR say when bits must be cleared. libfuse 3.14 does not
// know the flag. So the answer to INIT is changed on its way to the kernel. The demand in OPEN and WRITE becomes a
// bit of the open flags, which libfuse passes on like the bit of SETATTR.

import CFuse3
import CShims
import Glibc
import Synchronization

/// The agreement with the kernel about clearing these bits.
/// - Concurrency: callable from any thread.
final class PrivilegeAgreement: Sendable {
  /// A bit of a request's open flags that open(2) does not have (fcntl.h).
  static let mark: Int32 = 1 << 30

  /// The INIT request with the kernel's offer until it is answered; else 0.
  private let offer = Atomic<UInt64>(0)
  private let isAgreed = Atomic<Bool>(false)

  /// Moves a request's demand to clear these bits to the flags that libfuse passes on. `memory` is the request.
  func prepare(_ memory: UnsafeMutableRawBufferPointer) {
    guard let header = unsafe Self.part(fuse_in_header.self, of: memory, at: 0) else { return }
    let body = MemoryLayout<fuse_in_header>.size
    switch header.opcode {
    case FUSE_INIT.rawValue:
      // Older kernels send only the first four fields.
      guard let flags = unsafe Self.part(UInt32.self, of: memory, at: body + 12),
        flags & UInt32(FUSE_HANDLE_KILLPRIV_V2) != 0
      else { return }
      offer.store(header.unique, ordering: .sequentiallyConsistent)
    case FUSE_WRITE.rawValue:
      guard var said = unsafe Self.part(fuse_write_in.self, of: memory, at: body) else { return }
      said.flags = marked(said.flags, said.write_flags & UInt32(FUSE_WRITE_KILL_SUIDGID) != 0)
      unsafe memory.storeBytes(of: said, toByteOffset: body, as: fuse_write_in.self)
    case FUSE_OPEN.rawValue:
      guard var said = unsafe Self.part(fuse_open_in.self, of: memory, at: body) else { return }
      said.flags = marked(said.flags, said.open_flags & UInt32(FUSE_OPEN_KILL_SUIDGID) != 0)
      unsafe memory.storeBytes(of: said, toByteOffset: body, as: fuse_open_in.self)
    default: break
    }
  }

  private static func part<Part>(
    _ type: Part.Type, of memory: UnsafeMutableRawBufferPointer, at offset: Int
  ) -> Part? {
    guard memory.count >= offset + MemoryLayout<Part>.size else { return nil }
    return unsafe memory.loadUnaligned(fromByteOffset: offset, as: type)
  }

  private func marked(_ flags: UInt32, _ kills: Bool) -> UInt32 {
    let bit = UInt32(bitPattern: Self.mark)
    return kills && isAgreed.load(ordering: .relaxed) ? flags | bit : flags & ~bit
  }

  /// Makes the replies of a mounted session pass through ``amend(_:)``; false if memory is short.
  static func install(in session: OpaquePointer) -> Bool {
    var calls = fuse_custom_io()
    unsafe calls.writev = { descriptor, parts, count, userData in
      if let userData = unsafe userData {
        // The box lives until the session is destroyed; references to it would be counted with each reply.
        unsafe Unmanaged<SessionBox>.fromOpaque(userData)._withUnsafeGuaranteedRef { box in
          unsafe box.privileges.amend(UnsafeMutableBufferPointer(start: parts, count: Int(count)))
        }
      }
      // The last call, since libfuse reads errno after it.
      return unsafe Glibc.writev(descriptor, parts, count)
    }
    unsafe calls.read = { descriptor, memory, count, _ in
      unsafe Glibc.read(descriptor, memory, count)
    }
    // The descriptor remains libfuse's own.
    return unsafe fuse_session_custom_io(session, &calls, fuse_session_fd(session)) == 0
  }

  /// Accepts the kernel's offer in the answer to its INIT.
  private func amend(_ parts: UnsafeMutableBufferPointer<iovec>) {
    let offered = offer.load(ordering: .relaxed)
    guard offered != 0, parts.count >= 2 else { return }
    let (head, body) = unsafe (parts[0], parts[1])
    guard unsafe head.iov_len >= MemoryLayout<fuse_out_header>.size,
      let header = unsafe head.iov_base?.loadUnaligned(as: fuse_out_header.self),
      header.unique == offered
    else { return }
    offer.store(0, ordering: .relaxed)
    // Answers to very old kernels are shorter.
    guard header.error == 0, unsafe body.iov_len >= MemoryLayout<fuse_init_out>.size,
      let memory = unsafe body.iov_base
    else { return }
    var answer = unsafe memory.loadUnaligned(as: fuse_init_out.self)
    answer.flags |= UInt32(FUSE_HANDLE_KILLPRIV_V2)
    unsafe memory.storeBytes(of: answer, as: fuse_init_out.self)
    // Set before the kernel sees the answer.
    isAgreed.store(true, ordering: .sequentiallyConsistent)
  }
}
