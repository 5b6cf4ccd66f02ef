import FileTree
import FuseSession
import LLVS
import Platform

// Attributes, extended attributes, and the file system's numbers.

extension MountOperations {
  func getattr(_ node: NodeID, file: OpenFile?, reply: consuming AttributesReply) {
    do throws(FSError) {
      if Self.isHidden(node) {
        let entry = try hidden.entry(of: node.rawValue)
        return reply.attributes(
          entry.status.attributes, timeout: entry.isLasting ? EntryAttributes.forever : 0)
      }
      let status = try tree.getattr(node.rawValue)
      reply.attributes(status.attributes, timeout: EntryAttributes.forever)
    } catch {
      reply.error(error.errno)
    }
  }

  func setattr(
    _ node: NodeID, _ changes: SetAttributes, file: OpenFile?, reply: consuming AttributesReply
  ) {
    do throws(FSError) {
      if Self.isHidden(node) {
        let open = file.flatMap { OpenObject.object($0.handle) as? OpenHiddenFile }
        let status = try hidden.setattr(
          node.rawValue, changes.change, through: open?.file)
        return reply.attributes(status.attributes, timeout: 0)
      }
      let handle = file.flatMap { (OpenObject.object($0.handle) as? OpenLiveFile)?.handle }
      let thread = Self.caller(reply).process
      let status = try tree.setattr(
        node.rawValue, changes.change, through: handle, thread: thread)
      reply.attributes(status.attributes, timeout: EntryAttributes.forever)
    } catch {
      reply.error(error.errno)
    }
  }

  func getxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming XattrReply
  ) {
    do throws(FSError) {
      let name = Self.bytes(name)
      reply.value(
        Self.isHidden(node)
          ? try hidden.getxattr(node.rawValue, name) : try tree.getxattr(node.rawValue, name))
    } catch {
      reply.error(error.errno)
    }
  }

  func listxattr(_ node: NodeID, reply: consuming XattrReply) {
    do throws(FSError) {
      reply.value(
        Self.isHidden(node)
          ? try hidden.listxattr(node.rawValue) : try tree.listxattr(node.rawValue))
    } catch {
      reply.error(error.errno)
    }
  }

  func setxattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, flags: Int32,
    reply: consuming EmptyReply
  ) {
    guard !Self.isHidden(node) else {
      return reply.error(hidden.refusalOfExtended(of: node.rawValue).errno)
    }
    let mode: LiveTree.ExtendedMode
    switch flags {
    case 0: mode = .either
    case 1: mode = .create
    case 2: mode = .replace
    default: return reply.error(Errno.invalid)
    }
    answer(reply) { () throws(FSError) in
      try tree.setxattr(node.rawValue, Self.bytes(name), Array(value), mode: mode)
    }
  }

  func removexattr(
    _ node: NodeID, _ name: UnsafeRawBufferPointer, reply: consuming EmptyReply
  ) {
    guard !Self.isHidden(node) else {
      return reply.error(hidden.refusalOfExtended(of: node.rawValue).errno)
    }
    answer(reply) { () throws(FSError) in
      try tree.removexattr(node.rawValue, Self.bytes(name))
    }
  }

  func statfs(_ node: NodeID, reply: consuming StatisticsReply) {
    do throws(SystemError) {
      let disk = try FileSystem.fileSystem(of: tree.store.path)
      var numbers = FileSystemStatistics()
      numbers.blockSize = disk.blockSize
      numbers.blocks = disk.blocks
      numbers.freeBlocks = disk.freeBlocks
      numbers.availableBlocks = disk.availableBlocks
      numbers.files = disk.files
      numbers.freeFiles = disk.freeFiles
      reply.statistics(numbers)
    } catch {
      reply.error(error.errno)
    }
  }
}
