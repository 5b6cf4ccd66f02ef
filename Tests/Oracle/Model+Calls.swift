import Foundation

/// What a call must return, and the node that its answer is about.
struct Expectation {
  var answer: Answer
  var node: Int?

  init(_ answer: Answer, about node: Int? = nil) {
    self.answer = answer
    self.node = node
  }

  static let done = Expectation(.done)
  static func failed(_ code: Int32) -> Self { Self(.failed(code)) }
}

extension Model {
  /// Makes a call, as POSIX and Linux have it for the superuser, and returns what it must return.
  mutating func make(_ call: Call) -> Expectation {
    switch call {
    case .open(let place, let flags, let handle): return open(place, flags, handle)
    case .close(let handle):
      guard let open = handles.removeValue(forKey: handle) else { return .failed(EBADF) }
      forgetUnused(open.node)
      return .done
    case .read(let handle, let place, let count), .mapRead(let handle, let place, let count):
      guard self[node(handle)].kind == .file else { return .failed(EISDIR) }
      let bytes = self[node(handle)].bytes
      let start = min(place, bytes.count)
      return Expectation(.bytes(Data(bytes[start..<min(start + count, bytes.count)])))
    case .write(let handle, let place, let bytes), .mapWrite(let handle, let place, let bytes):
      let node = node(handle)
      let appends = handles[handle]?.flags.contains(.append) == true
      write(bytes, to: node, at: appends ? self[node].bytes.count : place)
      return .done
    case .resize(let handle, let size):
      resize(node(handle), to: size)
      return .done
    case .punch(let handle, let place, let count):
      let end = min(place + count, self[node(handle)].bytes.count)
      if place < end { write(Data(count: end - place), to: node(handle), at: place) }
      wrote(node(handle))
      return .done
    case .sync: return .done
    case .fileStatus(let handle):
      return Expectation(.status(status(of: node(handle))), about: node(handle))
    case .list(let handle): return list(node(handle))
    case .enter(let place):
      guard let found = find(place) else { return .failed(ENOENT) }
      // A symbolic link leads to nothing.
      guard self[found].kind != .symlink else { return .failed(ENOENT) }
      guard self[found].kind == .directory else { return .failed(ENOTDIR) }
      let left = current
      current = found
      forgetUnused(left)
      return .done
    case .workingDirectory:
      guard let names = names(from: 0, to: current) else { return .failed(ENOENT) }
      return Expectation(.text("/" + names.joined(separator: "/")))
    case .workingDirectoryStatus:
      return Expectation(.status(status(of: current)), about: current)
    default: return makeWithName(call)
    }
  }

  private mutating func makeWithName(_ call: Call) -> Expectation {
    switch call {
    case .makeDirectory(let place): return make(.directory, at: place, 0o755, Data())
    case .symlink(let target, let place):
      return make(.symlink, at: place, 0o777, Data(target.utf8))
    case .rename(let from, let to, let flag): return rename(from, to, flag)
    case .link(let from, let to):
      guard let found = find(from) else { return .failed(ENOENT) }
      guard find(to) == nil else { return .failed(EEXIST) }
      guard isThere(to.directory) else { return .failed(ENOENT) }
      guard self[found].kind != .directory else { return .failed(EPERM) }
      put(found, at: to)
      return .done
    default: return makeWithNode(call)
    }
  }

  private mutating func makeWithNode(_ call: Call) -> Expectation {
    guard let place = call.place, let found = find(place) else { return .failed(ENOENT) }
    let kind = self[found].kind
    switch call {
    case .status: return Expectation(.status(status(of: found)), about: found)
    case .truncate(_, let size):
      guard kind == .file else { return .failed(kind == .directory ? EISDIR : ENOENT) }
      resize(found, to: size)
    case .unlink:
      guard kind != .directory else { return .failed(EISDIR) }
      take(from: place)
    case .removeDirectory:
      guard kind == .directory else { return .failed(ENOTDIR) }
      guard self[found].entries.isEmpty else { return .failed(ENOTEMPTY) }
      take(from: place)
    case .readlink:
      guard kind == .symlink else { return .failed(EINVAL) }
      return Expectation(.text(String(decoding: self[found].bytes, as: UTF8.self)))
    case .setMode(_, let mode):
      self[found].mode = mode
      self[found].changed = nil
    case .setModified(_, let time):
      self[found].modified = time
      self[found].changed = nil
      self[found].hasSetTime = true
    case .setExtended(_, let name, let value):
      self[found].extended[name] = value
      self[found].changed = nil
    case .removeExtended(_, let name):
      guard self[found].extended.removeValue(forKey: name) != nil else { return .failed(ENODATA) }
      self[found].changed = nil
    case .extended(_, let name):
      guard let value = self[found].extended[name] else { return .failed(ENODATA) }
      return Expectation(.bytes(value))
    case .extendedNames:
      return Expectation(.text(self[found].extended.keys.sorted().joined(separator: " ")))
    default: break
    }
    return .done
  }

  // MARK: - Files

  private func node(_ handle: Int) -> Int { handles[handle]?.node ?? -1 }

  private mutating func open(_ place: Place, _ flags: OpenFlags, _ handle: Int) -> Expectation {
    var found = find(place)
    if let there = found {
      let kind = self[there].kind
      if flags.contains(.exclusive) { return .failed(EEXIST) }
      if kind == .symlink { return .failed(flags.contains(.directory) ? ENOTDIR : ELOOP) }
      if kind == .directory, !flags.isDisjoint(with: [.create, .write]) { return .failed(EISDIR) }
      if kind == .file, flags.contains(.directory) { return .failed(ENOTDIR) }
      if flags.contains(.truncate) { resize(there, to: 0) }
    } else {
      guard flags.contains(.create), isThere(place.directory) else { return .failed(ENOENT) }
      found = make(.file, mode: 0o644, at: place)
    }
    handles[handle] = found.map { Handle(node: $0, flags: flags) }
    return .done
  }

  private mutating func write(_ bytes: Data, to number: Int, at place: Int) {
    let end = place + bytes.count
    if self[number].bytes.count < end {
      self[number].bytes.append(Data(count: end - self[number].bytes.count))
    }
    self[number].bytes.replaceSubrange(place..<end, with: bytes)
    wrote(number)
  }

  private mutating func resize(_ number: Int, to size: Int) {
    let bytes = self[number].bytes
    self[number].bytes = bytes.prefix(size) + Data(count: max(0, size - bytes.count))
    wrote(number)
  }

  // MARK: - Names

  /// True if a directory has not been removed.
  private func isThere(_ directory: Int) -> Bool {
    directory == 0 || self[directory].parent != nil
  }

  private func list(_ directory: Int) -> Expectation {
    guard isThere(directory) else { return .failed(ENOENT) }
    let names = self[directory].entries.filter { !isShared($0.value) }
    return Expectation(
      .names(names.mapValues { ListedName(kind: self[$0].kind, number: self[$0].number) }),
      about: directory)
  }

  private mutating func make(
    _ kind: NodeKind, at place: Place, _ mode: UInt32, _ bytes: Data
  ) -> Expectation {
    guard find(place) == nil else { return .failed(EEXIST) }
    guard isThere(place.directory) else { return .failed(ENOENT) }
    let made = make(kind, mode: mode, at: place)
    self[made].bytes = bytes
    return .done
  }

  /// The refusals are in the order of do_renameat2() and vfs_rename().
  private mutating func rename(_ from: Place, _ to: Place, _ flag: RenameFlag?) -> Expectation {
    guard let moved = find(from) else { return .failed(ENOENT) }
    let there = find(to)
    if flag == .noReplace, there != nil { return .failed(EEXIST) }
    if flag == .exchange, there == nil { return .failed(ENOENT) }
    if names(from: moved, to: to.directory) != nil { return .failed(EINVAL) }
    if let there, names(from: there, to: from.directory) != nil {
      return .failed(flag == .exchange ? EINVAL : ENOTEMPTY)
    }
    guard isThere(to.directory) else { return .failed(ENOENT) }
    if moved == there { return .done }
    if let there, flag != .exchange {
      let isDirectory = self[moved].kind == .directory
      guard isDirectory == (self[there].kind == .directory) else {
        return .failed(isDirectory ? ENOTDIR : EISDIR)
      }
      guard self[there].entries.isEmpty else { return .failed(ENOTEMPTY) }
    }
    // What goes from its name for a moment must not be forgotten.
    let kept = nodes
    take(from: from)
    if there != nil { take(from: to) }
    for number in [moved, flag == .exchange ? there : nil].compactMap({ $0 }) {
      guard nodes[number] == nil, var node = kept[number] else { continue }
      (node.links, node.parent) = (node.links - 1, nil)
      nodes[number] = node
    }
    put(moved, at: to)
    if flag == .exchange, let there { put(there, at: from) }
    return .done
  }
}

extension Call {
  /// The one name that the call is about.
  var place: Place? {
    switch self {
    case .open(let place, _, _), .status(let place), .truncate(let place, _), .unlink(let place),
      .makeDirectory(let place), .removeDirectory(let place), .symlink(_, let place),
      .readlink(let place), .setMode(let place, _), .setModified(let place, _),
      .setExtended(let place, _, _), .removeExtended(let place, _), .extended(let place, _),
      .extendedNames(let place), .enter(let place), .rename(let place, _, _),
      .link(let place, _):
      place
    default: nil
    }
  }

  /// The call with paths in place of numbers.
  func text(in model: Model) -> String {
    func path(_ place: Place) -> String { model.path(place) }
    func file(_ handle: Int) -> String {
      guard let open = model.handles[handle] else { return "file \(handle)" }
      let places = model.places.filter { model.find($0) == open.node }.map(path)
      return "file \(handle) (\(places.isEmpty ? "unlinked" : places.joined(separator: ", ")))"
    }
    switch self {
    case .open(let place, let flags, let handle):
      return "open \(path(place)) \(flags.text) as \(handle)"
    case .close(let handle): return "close \(file(handle))"
    case .read(let handle, let place, let count):
      return "read \(count) at \(place) of \(file(handle))"
    case .write(let handle, let place, let bytes):
      return "write \(bytes.count) at \(place) of \(file(handle))"
    case .resize(let handle, let size): return "resize \(file(handle)) to \(size)"
    case .punch(let handle, let place, let count):
      return "punch \(count) at \(place) of \(file(handle))"
    case .sync(let handle, let dataOnly):
      return "\(dataOnly ? "fdatasync" : "fsync") \(file(handle))"
    case .mapRead(let handle, let place, let count):
      return "map and read \(count) at \(place) of \(file(handle))"
    case .mapWrite(let handle, let place, let bytes):
      return "map and write \(bytes.count) at \(place) of \(file(handle))"
    case .fileStatus(let handle): return "fstat \(file(handle))"
    case .list(let handle): return "list \(file(handle))"
    case .status(let place): return "stat \(path(place))"
    case .truncate(let place, let size): return "truncate \(path(place)) to \(size)"
    case .unlink(let place): return "unlink \(path(place))"
    case .makeDirectory(let place): return "mkdir \(path(place))"
    case .removeDirectory(let place): return "rmdir \(path(place))"
    case .rename(let from, let to, let flag):
      return "rename \(path(from)) to \(path(to))\(flag.map { " (\($0))" } ?? "")"
    case .link(let from, let to): return "link \(path(from)) to \(path(to))"
    case .symlink(_, let place): return "symlink \(path(place))"
    case .readlink(let place): return "readlink \(path(place))"
    case .setMode(let place, let mode): return "chmod \(String(mode, radix: 8)) \(path(place))"
    case .setModified(let place, let time): return "utimensat \(path(place)) \(time.seconds)"
    case .setExtended(let place, let name, let value):
      return "setxattr \(path(place)) \(name) \(value.count)"
    case .removeExtended(let place, let name): return "removexattr \(path(place)) \(name)"
    case .extended(let place, let name): return "getxattr \(path(place)) \(name)"
    case .extendedNames(let place): return "listxattr \(path(place))"
    case .enter(let place): return "chdir \(path(place))"
    case .workingDirectory: return "getcwd"
    case .workingDirectoryStatus: return "stat ."
    }
  }
}

extension OpenFlags {
  fileprivate var text: String {
    let names: [(OpenFlags, String)] = [
      (.read, "read"), (.write, "write"), (.append, "append"), (.create, "create"),
      (.exclusive, "excl"), (.truncate, "trunc"), (.directory, "directory"),
    ]
    return names.filter { contains($0.0) }.map(\.1).joined(separator: "+")
  }
}
