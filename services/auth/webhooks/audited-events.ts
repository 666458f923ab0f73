// The events that follow from changes: every change of keys, funds, models and prices arrives in the audit log once, whichever service makes it. Pure.
import type { AuditRecord } from '#kit/audit/audit-event.js';
import { isId } from '#kit/id.js';
import { defaultProjectId } from '#rules/default-project.js';
import { webhookBody, type WebhookEvents, type WebhookEventType } from '#rules/webhook-events.js';
import type { PublishedEvent } from './events.js';

/** The details of the audit events that are read here, as their services write them. */
interface Detail {
  readonly name: string;
  readonly project?: string;
  readonly amount_usd: string;
  readonly reason: string;
  readonly source?: 'cash' | 'promotion' | 'correction';
  readonly after: { readonly available_usd: string };
  readonly until: string | null;
  readonly price_id: string;
  readonly effective_from: string;
  readonly usd_per_million_tokens: WebhookEvents['price.published']['usd_per_million_tokens'];
  readonly units?: readonly { readonly unit: string; readonly usd: string }[];
  readonly truncated?: string;
}

type Change = { [T in WebhookEventType]: readonly [type: T, data: WebhookEvents[T]] }[WebhookEventType];

function changeOf({ action, accountId, targetId }: AuditRecord, detail: Detail): Change | undefined {
  switch (action) {
    case 'key.create':
      return ['key.created', { key_id: targetId, project_id: detail.project ?? defaultProjectId(accountId), name: detail.name }];
    case 'key.revoke':
      return ['key.revoked', { key_id: targetId, name: detail.name }];
    case 'account.credit':
    case 'code.redeem': {
      const { amount_usd, reason, source = 'promotion', after } = detail;
      return ['funds.added', { entry_id: targetId, amount_usd, source, reason, available_usd: after.available_usd }];
    }
    case 'model.pause':
      return ['model.paused', { model: targetId, until: detail.until, reason: detail.reason }];
    case 'model.resume':
      return ['model.resumed', { model: targetId }];
    case 'model.retire':
      return ['model.retired', { model: targetId }];
    case 'price.publish': {
      const { price_id, effective_from, usd_per_million_tokens, units = [] } = detail;
      const each = units.map(({ unit, usd }) => ({ unit, usd }));
      return ['price.published', { model: targetId, price_id, effective_from, usd_per_million_tokens, units: each }];
    }
    default:
      return undefined;
  }
}

/** Returns the event of a change, with the account that it concerns; undefined if it has none. */
export function eventOf(record: AuditRecord): { event: PublishedEvent; accountId: string | undefined } | undefined {
  const accountId = record.accountId === '' ? undefined : record.accountId;
  if (accountId !== undefined && !isId('acct', accountId)) return undefined;
  try {
    const detail = JSON.parse(record.detailJson) as Detail;
    const change = detail.truncated === undefined ? changeOf(record, detail) : undefined;
    if (change === undefined) return undefined;
    const [type, data] = change;
    const id = record.id.replace(/^aud_/, 'evt_');
    return { event: { id, type, json: webhookBody({ id, type, atMs: Number(record.atMs), accountId, data }) }, accountId };
  } catch {
    // Unexpected details must not keep an event out of the audit log.
    return undefined;
  }
}
