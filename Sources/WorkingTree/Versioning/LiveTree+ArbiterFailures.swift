import Events
package import Grammar
import Platform

extension LiveTree: ArbiterFailureListener {
  /// Changes the summary of the newest merge that asked a command, which the status tells.
  package func updateArbiterFailures(_ body: (inout ArbiterTrials.Summary?) -> Void) {
    arbiterFailures.withLock { body(&$0) }
  }

  /// Writes a line to the log.
  package func say(_ line: String) { damage.say(line) }
}
