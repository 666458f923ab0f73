// Statements, holds, deposits and codes of an account. Amounts are decimal-string USD.
import type { Entry, EntryKind, Hold, Posted, Receipt, Statement, StatementPage } from '../../../gateway/console/schemas/billing.js';
import { api, apiUrl, type Page } from './client.js';

export type { Hold, Receipt, Statement, StatementPage };
/** An entry of the journal as a line of the statement. */
export type Line = Entry;
/** The result of redeeming a code. */
export type Redemption = Posted;
export type LineKind = EntryKind;

/** The kinds of entries, in the order of the filter. */
export const lineKinds = [
  'deposit',
  'payment_refund',
  'payment_refund_reversal',
  'charge',
  'charge_correction',
  'refund',
  'refund_reversal',
  'adjustment',
  'shortfall',
] as const satisfies readonly LineKind[];

const of = (accountId: string): string => `/accounts/${accountId}`;

/** Oldest first. */
export const listHolds = (accountId: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Hold>> =>
  api.get(`${of(accountId)}/holds`, { query: { limit: 200, cursor }, signal });

/** Newest first. */
export const listStatements = (accountId: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Statement>> =>
  api.get(`${of(accountId)}/statements`, { query: { limit: 12, cursor }, signal });

/** A month and its lines, newest first. */
export const getStatement = (
  accountId: string,
  month: string,
  kind: string,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<StatementPage> => api.get(`${of(accountId)}/statements/${month}`, { query: { kind, limit: 50, cursor }, signal });

/** Returns the download address of a month with all of its lines. */
export const statementCsvUrl = (accountId: string, month: string, format: 'csv' | 'projects-csv'): string =>
  apiUrl(`${of(accountId)}/statements/${month}`, { format });

/** Newest first. */
export const listDeposits = (accountId: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Line>> =>
  api.get(`${of(accountId)}/deposits`, { query: { limit: 20, cursor }, signal });

export const getReceipt = (accountId: string, entryId: string, signal?: AbortSignal): Promise<Receipt> =>
  api.get(`${of(accountId)}/receipts/${entryId}`, { signal });

/** Credits the account; a repeat changes nothing. */
export const redeemCode = (accountId: string, code: string): Promise<Redemption> =>
  api.post(`${of(accountId)}/redemptions`, { body: { code } });
