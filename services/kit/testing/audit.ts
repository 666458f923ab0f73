// A keeper of the audit log, for tests of services that write audit events.
import type { AuditReceiver } from '../audit/audit-outbox.js';
import type { AuditRecord } from '../audit/audit-event.js';

/** A receiver and what it was sent, each event once. */
export interface RecordedAudit extends AuditReceiver {
  readonly events: readonly AuditRecord[];
}

/** Keeps the events that a service ships. */
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
