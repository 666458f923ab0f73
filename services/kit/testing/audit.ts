// A receiver of audit events, for tests of services that write them.
import type { AuditReceiver } from '../audit/audit-outbox.js';
import type { AuditRecord } from '../audit/audit-event.js';

/** A receiver and the events it was sent, each once. */
export interface RecordedAudit extends AuditReceiver {
  readonly events: readonly AuditRecord[];
}

/** Returns a receiver that records the events that a service ships. */
export function recordedAudit(): RecordedAudit {
  const events = new Map<string, AuditRecord>();
  return {
    get events() {
      return [...events.values()];
    },
    async appendAuditEvents(request) {
      for (const event of request.events) if (!events.has(event.id)) events.set(event.id, event);
    },
  };
}
