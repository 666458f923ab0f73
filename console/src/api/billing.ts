// Statements, holds, deposits and codes of an account. Amounts are decimal-string USD.
import { api, apiUrl, type Page } from './client.js';

/** Money that a call in flight has set aside. */
export interface Hold {
  readonly request_id: string;
  readonly key_id: string;
  readonly amount_usd: string;
  /** What the call has cost so far. */
  readonly used_so_far_usd: string;
  readonly created_at: string;
  /** When it is freed at the latest, unless the call goes on. */
  readonly expires_at: string;
}

/** A month (UTC): opening + deposits + adjustments − charges + refunds = closing. */
export interface Statement {
  /** For example `2026-11`. */
  readonly month: string;
  readonly from: string;
  readonly until: string;
  readonly opening_usd: string;
  readonly deposits_usd: string;
  readonly adjustments_usd: string;
  readonly charges_usd: string;
  readonly refunds_usd: string;
  readonly closing_usd: string;
  readonly lines: number;
  /** Lines of calls may be in the operator's archive and not here; the figures are of all. */
  readonly has_archived_lines: boolean;
  readonly is_closed: boolean;
}

/** What an entry is. */
export const lineKinds = ['deposit', 'charge', 'refund', 'adjustment', 'shortfall'] as const;
export type TokenClass = (typeof lineKinds)[number];

/** An entry of the journal as a line of the statement. */
export interface Line {
  readonly id: string;
  readonly number: number;
  readonly kind: TokenClass;
  readonly amount_usd: string;
  /** What it did to the balance; zero for a shortfall. */
  readonly effect_usd: string;
  readonly balance_after_usd: string;
  readonly request_id: string | null;
  readonly key_id: string | null;
  readonly source: 'cash' | 'promotion' | null;
  readonly reference: string | null;
  readonly reason: string | null;
  readonly created_at: string;
}

/** A month with a page of its lines. */
export interface StatementPage extends Page<Line> {
  readonly statement: Statement;
}

/** What a receipt says. */
export interface Receipt {
  readonly number: string;
  readonly account: { readonly id: string; readonly name: string };
  readonly created_at: string;
  readonly amount_usd: string;
  readonly source: 'cash' | 'promotion';
  readonly reference: string | null;
  readonly reason: string | null;
  readonly balance_after_usd: string;
}

/** What redeeming a code did. */
export interface Redemption {
  readonly entry: Line;
  /** The account had redeemed the code before. */
  readonly replayed: boolean;
}

const of = (accountId: string): string => `/accounts/${accountId}`;

export const listHolds = (accountId: string, signal?: AbortSignal): Promise<{ readonly data: readonly Hold[] }> =>
  api.get(`${of(accountId)}/holds`, { query: { limit: 200 }, signal });

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

/** The address of a month with all of its lines as a file. */
export const statementCsvUrl = (accountId: string, month: string): string =>
  apiUrl(`${of(accountId)}/statements/${month}`, { format: 'csv' });

/** Newest first. */
export const listDeposits = (accountId: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Line>> =>
  api.get(`${of(accountId)}/deposits`, { query: { limit: 20, cursor }, signal });

export const getReceipt = (accountId: string, entryId: string, signal?: AbortSignal): Promise<Receipt> =>
  api.get(`${of(accountId)}/receipts/${entryId}`, { signal });

/** Credits the account; a repeat changes nothing. */
export const redeemCode = (accountId: string, code: string): Promise<Redemption> =>
  api.post(`${of(accountId)}/redemptions`, { body: { code } });

/** The names of the account's newest keys by their ids. */
export async function keyNames(accountId: string, signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const { data } = await api.get<Page<{ readonly id: string; readonly name: string }>>(`${of(accountId)}/keys`, {
    query: { limit: 200 },
    signal,
  });
  return Object.fromEntries(data.map(({ id, name }) => [id, name]));
}
