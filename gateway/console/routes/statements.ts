// Statements of an account by month, with their lines, and receipts of deposits.
import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { EntryKind, ListEntriesRequest, type Statement } from '#proto/ledger/v1/ledger.js';
import { leaving } from '../../http/disconnect-signal.js';
import { contextOf, stillActing } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { pageOf, queryText } from '../paging.js';
import { entryKinds, renderEntry } from '../render/money.js';
import { renderReceipt, renderStatement } from '../render/statement.js';
import { orNull } from '../render/values.js';
import { accountOf } from '../session.js';
import { statementCsvEnd, statementCsvLine, statementCsvStart } from '../statement-csv.js';

/** GET statements: months, newest first. */
export function listStatements(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { statements, nextPageToken } = await deps.peers.ledger.listStatements({ accountId, ...pageOf(ctx) }, contextOf(deps));
    ctx.body = { data: statements.map(renderStatement), next: orNull(nextPageToken) };
  };
}

/** GET statements/{month}: its figures and a page of its lines, newest first unless ?order=oldest; ?kind=charge,refund; ?format=csv for all of them as a file. */
export function getStatement(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const month = String(ctx['params'].month);
    const format = oneOf(ctx, 'format', ['json', 'csv']);
    const order = oneOf(ctx, 'order', ['newest', 'oldest']);
    const request = ListEntriesRequest.fromPartial({
      accountId,
      month,
      kinds: kindsOf(ctx),
      oldestFirst: format === 'csv' || order === 'oldest',
      ...pageOf(ctx),
    });
    const { statement } = await deps.peers.ledger.getStatement({ accountId, month }, contextOf(deps));
    if (format === 'csv') {
      ctx.type = 'text/csv; charset=utf-8';
      ctx.attachment(`statement-${month}.csv`);
      ctx.body = Readable.from(stillActing(csvLines(statement!, request, leaving(ctx.res), deps)));
      return;
    }
    const { entries, nextPageToken } = await deps.peers.ledger.listEntries(request, contextOf(deps));
    ctx.body = { statement: renderStatement(statement!), data: entries.map(renderEntry), next: orNull(nextPageToken) };
  };
}

const exportPageSize = 1000;

async function* csvLines(
  statement: Statement,
  request: ListEntriesRequest,
  left: AbortSignal,
  deps: ConsoleDeps,
): AsyncGenerator<string, void, void> {
  yield statementCsvStart(statement);
  // While the month goes on it ends with the last line that is told; once it is archived in part, its figures alone know how it ended.
  let closingNanoUsd = statement.hasArchivedEntries || request.kinds.length > 0 ? statement.closingNanoUsd : statement.openingNanoUsd;
  let pageToken = '';
  do {
    const page = await deps.peers.ledger.listEntries({ ...request, pageSize: exportPageSize, pageToken }, contextOf(deps));
    yield page.entries.map(statementCsvLine).join('');
    const last = page.entries.at(-1);
    if (last !== undefined && !statement.hasArchivedEntries && request.kinds.length === 0)
      closingNanoUsd = last.creditedAfterNanoUsd - last.spentAfterNanoUsd;
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && !left.aborted);
  yield statementCsvEnd(statement, closingNanoUsd);
}

/** GET deposits: newest first; each has a receipt. */
export function listDeposits(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const request = ListEntriesRequest.fromPartial({ accountId, kinds: [EntryKind.ENTRY_KIND_DEPOSIT], ...pageOf(ctx) });
    const { entries, nextPageToken } = await deps.peers.ledger.listEntries(request, contextOf(deps));
    ctx.body = { data: entries.map(renderEntry), next: orNull(nextPageToken) };
  };
}

/** GET receipts/{entry}: of a deposit. */
export function getReceipt(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { entry } = await deps.peers.ledger.getEntry({ accountId, entryId: String(ctx['params'].entry) }, contextOf(deps));
    if (entry!.kind !== EntryKind.ENTRY_KIND_DEPOSIT)
      throw new AppError('not_found', 'There are receipts of deposits only.', { details: { what: 'receipt' } });
    const { account } = await deps.peers.auth.getAccount({ accountId }, contextOf(deps));
    ctx.body = renderReceipt(entry!, account!);
  };
}

function kindsOf(ctx: Context): EntryKind[] {
  const words = queryText(ctx, 'kind')
    .split(',')
    .filter((word) => word !== '');
  return words.map((word) => {
    const kind = entryKinds.get(word);
    if (kind === undefined)
      throw new AppError('invalid_request', `kind: must be of ${[...entryKinds.keys()].join(', ')}, separated by commas`, {
        details: { field: 'kind' },
      });
    return kind;
  });
}

/** The word of a parameter; the first one unless it is given. */
function oneOf<const W extends string>(ctx: Context, name: string, words: readonly [W, ...W[]]): W {
  const text = queryText(ctx, name);
  const word = text === '' ? words[0] : words.find((each) => each === text);
  if (word === undefined) throw new AppError('invalid_request', `${name}: must be ${words.join(' or ')}`, { details: { field: name } });
  return word;
}
