// The audit log, for operators: listed, exported and verified.
import type { Static } from 'typebox';
import { fieldFault } from '#client/errors/fault.js';
import { ListAuditEventsRequest } from '#proto/auth/v1/users.js';
import { disconnectSignal } from '../../../http/disconnect-signal.js';
import { csvLine } from '../../../pages/csv.js';
import { exportFile, exportPageSize } from '../../exports/export-file.js';
import { renderAuditEvent } from '../../render/audit.js';
import { instant, maybe, orNull } from '../../render/values.js';
import { AuditCheck, AuditEventList, AuditFilter, ExportAudit, VerifyAudit } from '../../schemas/operator/audit.js';
import { type Area, file, ok, operation } from '../../table/operation.js';
import { instantOf } from '../../search/usage-filter.js';

const verifyTimeoutMs = 60_000;
const columns = [
  'at',
  'number',
  'actor',
  'actor_user_id',
  'address',
  'caller',
  'account_id',
  'action',
  'target_id',
  'detail',
  'id',
  'hash',
] as const;

export const audit: Area = {
  title: 'Operators: audit log',
  description: 'All audit events. Events are only appended.',
  operations: [
    operation('GET', '/operator/audit', {
      summary: 'List the audit events, newest first.',
      who: 'operator',
      query: AuditFilter,
      paged: true,
      answers: [ok(AuditEventList)],
      handle: async ({ query, page, context }, { peers }) => {
        const { events, nextPageToken } = await peers.users.listAuditEvents({ ...filterOf(query), ...page }, context());
        return { data: events.map(renderAuditEvent), next: orNull(nextPageToken) };
      },
    }),
    operation('GET', '/operator/audit/export', {
      summary: 'Download the events that match the filter as a file.',
      who: 'operator',
      query: ExportAudit,
      answers: [file('The file, streamed; each line of jsonl is an audit event.', 'text/csv', 'application/x-ndjson')],
      handle: async ({ ctx, query, context }, { peers }) => {
        const { format = 'csv' } = query;
        const filter = ListAuditEventsRequest.fromPartial(filterOf(query));
        // The first page is read before the headers are sent, so that an invalid filter gets an error response.
        const first = await peers.users.listAuditEvents({ ...filter, pageSize: exportPageSize }, context());
        const disconnected = disconnectSignal(ctx.res);
        ctx.type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
        ctx.attachment(`audit.${format}`);
        return exportFile(lines());

        async function* lines(): AsyncGenerator<string, void, void> {
          if (format === 'csv') yield csvLine(columns);
          for (let page = first; ;) {
            const events = page.events.map(renderAuditEvent);
            yield events
              .map((event) =>
                format === 'csv'
                  ? csvLine(columns.map((column) => (column === 'detail' ? JSON.stringify(event.detail) : (event[column] ?? ''))))
                  : `${JSON.stringify(event)}\n`,
              )
              .join('');
            if (page.nextPageToken === '' || disconnected.aborted) return;
            page = await peers.users.listAuditEvents({ ...filter, pageSize: exportPageSize, pageToken: page.nextPageToken }, context());
          }
        }
      },
    }),
    operation('POST', '/operator/audit/verify', {
      summary: 'Verify the hash chain and, if the number and hash of an event are given, that the event is still there.',
      who: 'operator',
      body: VerifyAudit,
      answers: [ok(AuditCheck)],
      handle: async ({ body: { number, hash }, context }, { peers }) => {
        if ((number == null) !== (hash == null)) throw fieldFault(number == null ? 'number' : 'hash', 'number_and_hash');
        const seen = { number: BigInt(number ?? 0), hash: Buffer.from(hash ?? '', 'hex') };
        const found = await peers.users.verifyAuditLog(seen, context({ ms: verifyTimeoutMs }));
        return {
          ok: found.fault === '',
          fault: orNull(found.fault),
          entries_checked: Number(found.eventsChecked),
          last: found.lastNumber === 0n ? null : { number: Number(found.lastNumber), hash: Buffer.from(found.lastHash).toString('hex') },
          restore: maybe(found.restore, ({ atMs, backupAtMs, lastNumber }) => ({
            at: instant(atMs),
            backup_at: instant(backupAtMs),
            last_number: Number(lastNumber),
          })),
        };
      },
    }),
  ],
};

function filterOf(query: Static<typeof AuditFilter>) {
  return {
    accountId: query.account ?? '',
    actor: query.actor ?? '',
    withoutUser: false,
    action: query.action ?? '',
    targetId: query.target ?? '',
    fromMs: instantOf('from', query.from),
    untilMs: instantOf('until', query.until),
  };
}
