// Balance and billing of an account: the balance, holds, the journal, statements, receipts and redemption codes.
import { Readable } from 'node:stream';
import { fault, fieldFault } from '#client/errors/fault.js';
import { pagesOf } from '#kit/pages.js';
import { ListProjectsRequest } from '#proto/auth/v1/auth.js';
import { EntryKind, ListEntriesRequest, type Statement } from '#proto/ledger/v1/ledger.js';
import { GroupBy, UsageFilter } from '#proto/metering/v1/metering.js';
import { disconnectSignal } from '../../http/disconnect-signal.js';
import { exportFile, exportPageSize } from '../exports/export-file.js';
import type { OperationDeps } from '../deps.js';
import { renderLow } from '../render/alerts.js';
import { renderBalance, renderEntry, renderHold } from '../render/billing.js';
import { renderReceipt, renderStatement } from '../render/statement.js';
import { orNull } from '../render/values.js';
import { words } from '../render/words.js';
import {
  BalanceNow,
  EntryList,
  GetStatement,
  HoldList,
  Posted,
  Receipt,
  RedeemCode,
  StatementList,
  StatementPage,
} from '../schemas/billing.js';
import { entryKinds } from '../schemas/words.js';
import { statementCsvEnd, statementCsvLine, statementCsvStart, statementProjectsCsv } from '../exports/statement-csv.js';
import { assertActive } from '../session/access.js';
import { type Area, type Call, created, ok, operation } from '../table/operation.js';

export const billing: Area = {
  title: 'Billing',
  description: 'The balance of an account, its holds, and its journal.',
  operations: [
    operation('GET', '/accounts/{account}/balance', {
      summary: 'Show the balance, and whether it is low.',
      who: 'look',
      scope: 'billing:read',
      answers: [ok(BalanceNow)],
      handle: async ({ accountId, context }, { peers }) => {
        const [{ balance }, alert] = await Promise.all([
          peers.ledger.getBalance({ accountId }, context()),
          peers.alerts.getAlert({ accountId }, context()),
        ]);
        return { ...renderBalance(balance!), ...renderLow(alert) };
      },
    }),
    operation('GET', '/accounts/{account}/holds', {
      summary: 'List the funds held for calls in flight, oldest first.',
      who: 'look',
      scope: 'billing:read',
      paged: true,
      answers: [ok(HoldList)],
      handle: async ({ accountId, page, context }, { peers }) => {
        const { holds, nextPageToken } = await peers.ledger.listOpenHolds({ accountId, ...page }, context());
        return { data: holds.map(renderHold), next: orNull(nextPageToken) };
      },
    }),
    operation('GET', '/accounts/{account}/entries', {
      summary: 'List the entries of the journal, newest first.',
      who: 'look',
      scope: 'billing:read',
      paged: true,
      answers: [ok(EntryList)],
      handle: (call, deps) => listEntries(call, deps, {}),
    }),
    operation('GET', '/accounts/{account}/statements', {
      summary: 'List the monthly statements, newest first.',
      who: 'look',
      scope: 'billing:read',
      paged: true,
      answers: [ok(StatementList)],
      handle: async ({ accountId, page, context }, { peers }) => {
        const { statements, nextPageToken } = await peers.ledger.listStatements({ accountId, ...page }, context());
        return { data: statements.map(renderStatement), next: orNull(nextPageToken) };
      },
    }),
    operation('GET', '/accounts/{account}/statements/{month}', {
      summary: 'Show a statement: its figures and a page of its lines.',
      who: 'look',
      scope: 'billing:read',
      query: GetStatement,
      paged: true,
      answers: [{ ...ok(StatementPage), types: ['text/csv'] }],
      handle: async (call, deps) => {
        const { ctx, accountId, params, query, context } = call;
        const { month } = params;
        const isFile = query.format === 'csv';
        const lines = { month, kinds: kindsOf(query.kind), oldestFirst: isFile || query.order === 'oldest' };
        const { statement } = await deps.peers.ledger.getStatement({ accountId, month }, context());
        if (query.format === 'projects-csv') {
          const text = await projectsCsv(statement!, call, deps);
          ctx.type = 'text/csv; charset=utf-8';
          ctx.attachment(`statement-${month}-projects.csv`);
          return Readable.from([text]);
        }
        if (!isFile) return { statement: renderStatement(statement!), ...(await listEntries(call, deps, lines)) };
        ctx.type = 'text/csv; charset=utf-8';
        ctx.attachment(`statement-${month}.csv`);
        const disconnected = disconnectSignal(ctx.res);
        return exportFile(csvLines());

        async function* csvLines(): AsyncGenerator<string, void, void> {
          yield statementCsvStart(statement!);
          // An open month ends with the last line that is listed, unless some lines are archived or filtered out.
          const isWhole = !statement!.hasArchivedEntries && lines.kinds.length === 0;
          let closingNanoUsd = isWhole ? statement!.openingNanoUsd : statement!.closingNanoUsd;
          const listed = pagesOf((pageToken) =>
            deps.peers.ledger.listEntries(
              ListEntriesRequest.fromPartial({ accountId, ...lines, pageSize: exportPageSize, pageToken }),
              context(),
            ),
          );
          for await (const { entries } of listed) {
            yield entries.map(statementCsvLine).join('');
            const last = entries.at(-1);
            if (last !== undefined && isWhole) closingNanoUsd = last.creditedAfterNanoUsd - last.spentAfterNanoUsd;
            if (disconnected.aborted) break;
          }
          yield statementCsvEnd(statement!, closingNanoUsd);
        }
      },
    }),
    operation('GET', '/accounts/{account}/deposits', {
      summary: 'List the deposits, newest first; each has a receipt.',
      who: 'look',
      scope: 'billing:read',
      paged: true,
      answers: [ok(EntryList)],
      handle: (call, deps) => listEntries(call, deps, { kinds: [EntryKind.ENTRY_KIND_DEPOSIT] }),
    }),
    operation('GET', '/accounts/{account}/receipts/{entry}', {
      summary: 'Show the receipt of a deposit.',
      who: 'look',
      scope: 'billing:read',
      answers: [ok(Receipt)],
      handle: async ({ accountId, params, context }, { peers }) => {
        const { entry, corrections } = await peers.ledger.getEntry({ accountId, entryId: params.entry }, context());
        if (entry!.kind !== EntryKind.ENTRY_KIND_DEPOSIT) throw fault('receipts_of_deposits', {}, { details: { what: 'receipt' } });
        const { account } = await peers.auth.getAccount({ accountId }, context());
        return renderReceipt(entry!, corrections, account!);
      },
    }),
    operation('POST', '/accounts/{account}/redemptions', {
      summary: 'Redeem a code, which credits the account once.',
      who: 'change money',
      body: RedeemCode,
      answers: [created(Posted, 'Credited.'), ok(Posted, 'This account had already redeemed it.')],
      errors: {
        code_refused: 'There is no such code, or it is used, void or expired.',
        account_suspended: 'The account is suspended.',
        code_throttled: 'Ten codes were rejected; wait for `retry-after`.',
      },
      handle: async ({ ctx, accountId, body, context }, deps) => {
        assertActive((await deps.peers.auth.getAccount({ accountId }, context())).account!);
        const { entry, balance, replayed } = await deps.peers.ledger.redeemCode({ accountId, secret: body.code }, context());
        const shown = renderEntry(entry!);
        if (replayed) ctx.status = 200;
        return { entry: shown, balance: renderBalance(balance!), replayed };
      },
    }),
  ],
};

async function projectsCsv({ month, fromMs, untilMs }: Statement, { accountId, context }: Call, { peers }: OperationDeps): Promise<string> {
  const filter = UsageFilter.fromPartial({ accountId, fromMs, untilMs });
  const grouping = { groupBy: GroupBy.GROUP_BY_PROJECT, thenBy: GroupBy.GROUP_BY_UNSPECIFIED, offsetMinutes: 0 };
  const { groups } = await peers.metering.getUsageTotals({ filter, ...grouping }, context());
  const names = new Map<string, string>();
  const listed = pagesOf((pageToken) =>
    peers.auth.listProjects(ListProjectsRequest.fromPartial({ accountId, pageSize: 1000, pageToken }), context()),
  );
  for await (const { projects } of listed) for (const { id, name } of projects) names.set(id, name);
  return statementProjectsCsv(month, groups, names);
}

async function listEntries(
  { accountId, page, context }: Call,
  { peers }: OperationDeps,
  which: Parameters<typeof ListEntriesRequest.fromPartial>[0],
) {
  const request = ListEntriesRequest.fromPartial({ accountId, ...which, ...page });
  const { entries, nextPageToken } = await peers.ledger.listEntries(request, context());
  return { data: entries.map(renderEntry), next: orNull(nextPageToken) };
}

function kindsOf(text = ''): EntryKind[] {
  const kinds = text.split(',').filter((word) => word !== '');
  return kinds.map((kind) => {
    const known = entryKinds.find((word) => word === kind);
    if (known === undefined) throw fieldFault('kind', 'words_of', { values: entryKinds.join(', ') });
    return words.entryKind.value(known);
  });
}
