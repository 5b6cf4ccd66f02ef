extension KeyValueDatabase {
  /// Publishes the versions of matching keys, now and after each change; fails if reading fails.
  /// If changes are faster than the receiver, only the last state is delivered.
  public func readPublisher(
    scope: String? = nil, key: String? = nil
  ) -> Publication<[ScopedKey: [Version]], any Error> {
    latest { connection in
      try Self.bulkRead(on: connection, scope: scope, key: key)
    } after: { change in
      change.touches { $0.matches(scope: scope, key: key) }
    }
  }

  /// Does the same for all keys with a prefix.
  public func readPublisher(keyPrefix: String) -> Publication<[ScopedKey: [Version]], any Error> {
    latest { connection in
      try Self.bulkRead(on: connection, keyPrefix: keyPrefix)
    } after: { change in
      change.touches { $0.key.utf8.starts(with: keyPrefix.utf8) }
    }
  }

  /// Publishes a function's result, now and after each change in the file; fails with its error.
  /// The function is called on a queue of the subscription; of fast changes only the last state is delivered.
  @preconcurrency
  public func valuePublisher<T: Sendable>(
    _ fetch: @escaping @Sendable (Database) throws -> T
  ) -> Publication<T, any Error> {
    latest { connection in
      let database = Database(connection, canWrite: false)
      defer { database.close() }
      return try fetch(database)
    } after: {
      $0.isAny
    }
  }

  /// Publishes that matching keys have changed, once for each transaction, with the database for reading.
  public func didChangePublisher(
    scope: String? = nil, key: String? = nil
  ) -> Publication<Database, any Error> {
    Publication { [writer] receive in
      writer.observers.add(writer) { change, _ in
        guard change.touches({ $0.matches(scope: scope, key: key) }) else { return }
        receive(.success(Database(over: writer)))
      }
    }
  }

  /// Publishes each key that changes from now on, with all of its versions.
  /// Changes through this object are published after their commit, those of other processes within a second.
  public var updatedValuesPublisher: Publication<(ScopedKey, [Version]), Never> {
    Publication { [writer] receive in
      // The gate is held, so that no commit is between the first reading and the first call.
      writer.writing.gate.locked {
        let watch = try? KeyWatch(writer.writing)
        return writer.observers.add(writer) { change, connection in
          // After an error of the file the next change is delivered again.
          guard let keys = try? watch?.changed(change, connection) ?? change.keys else { return }
          for key in keys.sorted() {
            guard let versions = try? Self.versions(of: key, on: connection) else { continue }
            receive(.success((key, versions)))
          }
        }
      }
    }
  }

  private func latest<Output: Sendable>(
    _ fetch: @escaping @Sendable (Connection) throws -> Output,
    after isDue: @escaping @Sendable (Change) -> Bool
  ) -> Publication<Output, any Error> {
    Publication { [writer] receive in
      let latest = Latest(writer, fetch, receive)
      let subscription = writer.observers.add(writer) { change, _ in
        if isDue(change) { latest.schedule() }
      }
      latest.schedule()
      return AnyCancellable {
        latest.end()
        subscription.cancel()
      }
    }
  }
}

extension ScopedKey {
  fileprivate func matches(scope: String?, key: String?) -> Bool {
    (scope.map { Bytes.areEqual($0, self.scope) } ?? true)
      && (key.map { Bytes.areEqual($0, self.key) } ?? true)
  }
}
