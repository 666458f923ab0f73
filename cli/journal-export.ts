// Exports the journal page by page, whatever its length. Every figure is an exact integer in nano-USD.
import { open, rename, rm } from 'node:fs/promises';
import { pagesOf } from '#kit/pages.js';
import type { Entry, LedgerService } from '#proto/ledger/v1/ledger.js';
import { operatorCall } from './connect.js';
import type { Sink } from './output.js';
import { pageSizeMax } from './pages.js';
import { entryWords } from './views/balance.js';

const pageTimeoutMs = 60_000;

/** JSON lines, or comma-separated values (RFC 4180). */
export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Which entries to export; empty and 0 mean no limit. */
export interface ExportRequest {
  readonly accountId: string;
  readonly fromMs: bigint;
  readonly untilMs: bigint;
}

/** How much was exported. */
export interface Exported {
  readonly entries: number;
  readonly accounts: number;
}

/** Exports to a file of this name, which is either complete or absent, or to standard output. */
export async function exportJournal(
  ledger: Pick<LedgerService, 'listJournal'>,
  request: ExportRequest,
  format: ExportFormat,
  to: string | Sink,
): Promise<Exported> {
  if (typeof to !== 'string') return writePages(ledger, request, format, async (text) => to.stdout(text));
  const partPath = `${to}.part`;
  const file = await open(partPath, 'w', 0o600);
  try {
    const exported = await writePages(ledger, request, format, (text) => file.appendFile(text));
    await file.sync();
    await file.close();
    await rename(partPath, to);
    return exported;
  } catch (error) {
    await file.close();
    await rm(partPath, { force: true });
    throw error;
  }
}

async function writePages(
  ledger: Pick<LedgerService, 'listJournal'>,
  request: ExportRequest,
  format: ExportFormat,
  write: (text: string) => Promise<void>,
): Promise<Exported> {
  let [entries, accounts, lastAccountId] = [0, 0, ''];
  if (format === 'csv') await write(`${columns.join(',')}\r\n`);
  const listed = pagesOf((pageToken) => ledger.listJournal({ ...request, pageSize: pageSizeMax, pageToken }, operatorCall(pageTimeoutMs)));
  for await (const page of listed) {
    for (const { accountId } of page.entries) {
      if (accountId !== lastAccountId) accounts += 1;
      lastAccountId = accountId;
    }
    entries += page.entries.length;
    if (page.entries.length > 0) await write(page.entries.map(format === 'csv' ? csvLine : jsonLine).join(''));
  }
  return { entries, accounts };
}

const columns = [
  'id',
  'account_id',
  'seq',
  'kind',
  'debit',
  'credit',
  'amount_nano_usd',
  'credited_after_nano_usd',
  'spent_after_nano_usd',
  'held_after_nano_usd',
  'reference',
  'key_id',
  'reason',
  'linked_entry_id',
  'idempotency_key',
  'created_at',
] as const;

function rowOf(entry: Entry): Record<(typeof columns)[number], string> {
  return {
    id: entry.id,
    account_id: entry.accountId,
    seq: entry.seq.toString(),
    ...entryWords(entry),
    amount_nano_usd: entry.amountNanoUsd.toString(),
    credited_after_nano_usd: entry.creditedAfterNanoUsd.toString(),
    spent_after_nano_usd: entry.spentAfterNanoUsd.toString(),
    held_after_nano_usd: entry.heldAfterNanoUsd.toString(),
    reference: entry.reference,
    key_id: entry.keyId,
    reason: entry.reason,
    linked_entry_id: entry.linkedEntryId,
    idempotency_key: entry.idempotencyKey,
    created_at: new Date(Number(entry.createdAtMs)).toISOString(),
  };
}

function jsonLine(entry: Entry): string {
  return `${JSON.stringify(rowOf(entry))}\n`;
}

function csvLine(entry: Entry): string {
  const row = rowOf(entry);
  return `${columns.map((column) => csvField(row[column])).join(',')}\r\n`;
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
