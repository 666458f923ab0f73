// What operators ask: accounts, money, people, the audit log and how the system stands (gateway/console/routes/operator).
import type { Balance } from './balance.js';
import type { MailStanding } from './people.js';
import { api, apiUrl, type Page } from './client.js';

export interface OperatorAccount {
  readonly id: string;
  readonly name: string;
  readonly state: 'active' | 'suspended';
  /** Why it is suspended, as callers are told. */
  readonly state_reason: string | null;
  readonly created_at: string;
  /** Null while the ledger is away. */
  readonly balance: Balance | null;
  readonly keys: number;
}

export interface OperatorAccountDetail extends OperatorAccount {
  readonly last_call: { readonly request_id: string; readonly at: string } | null;
  /** Who did not answer. */
  readonly away: readonly ('ledger' | 'metering')[];
}

export interface JournalEntry {
  readonly id: string;
  readonly number: number;
  readonly kind: 'deposit' | 'charge' | 'shortfall' | 'adjustment' | 'refund';
  /** Below zero for what was taken. */
  readonly effect_usd: string;
  readonly amount_usd: string;
  readonly balance_after_usd: string;
  readonly request_id: string | null;
  readonly reason: string | null;
  readonly corrects_entry_id: string | null;
  readonly created_at: string;
}

export interface Posted {
  readonly entry: JournalEntry;
  readonly balance: Balance;
  readonly replayed: boolean;
}

export interface OperatorUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly is_operator: boolean;
  readonly is_disabled: boolean;
  readonly has_password: boolean;
  readonly created_at: string;
}

export interface SignInLink {
  readonly url: string;
  readonly expires_at: string;
  readonly mail: MailStanding;
}

export interface AuditEvent {
  readonly id: string;
  readonly at: string;
  readonly actor: string | null;
  readonly actor_user_id: string | null;
  readonly address: string | null;
  readonly caller: string;
  readonly account_id: string | null;
  readonly action: string;
  readonly target_id: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly number: number;
  readonly hash: string;
}

export interface AuditCheck {
  readonly ok: boolean;
  readonly fault: string | null;
  readonly entries_checked: number;
  readonly last: { readonly number: number; readonly hash: string } | null;
}

export interface LedgerCheck {
  readonly ok: boolean;
  readonly at: string;
  readonly accounts_checked: number;
  readonly entries_checked: number;
  readonly sum_usd: string;
  readonly drift_count: number;
}

export interface Health {
  readonly at: string;
  readonly mode: 'single' | 'distributed' | null;
  readonly gateway: {
    readonly ready: boolean;
    readonly missing: readonly string[];
    readonly version: string;
    readonly node_version: string;
    readonly started_at: string;
    readonly calls: number;
    readonly spool: { readonly waiting: number; readonly refused: number; readonly damaged_files: number };
    readonly feeds: Readonly<Record<'keys' | 'catalog', { readonly live: boolean; readonly silent_ms: number | null }>>;
  };
  readonly services: readonly {
    readonly name: string;
    readonly ready: boolean;
    readonly fault: string | null;
    readonly version: string | null;
    readonly node_version: string | null;
    readonly started_at: string | null;
    readonly database: { readonly engine: string; readonly version: string; readonly answer_us: number } | null;
  }[];
  readonly holds: { readonly open: number; readonly past_expiry: number; readonly oldest_at: string | null } | null;
  readonly ledger_check: LedgerCheck | null;
  readonly outbox: {
    readonly waiting: number;
    readonly oldest_at: string | null;
    readonly refused: number;
    readonly open_calls: number;
  } | null;
  readonly quarantined_last_hour: number | null;
  readonly reconciliation: {
    readonly recent: { readonly finished_at: string; readonly records_checked: number } | null;
    readonly full: { readonly finished_at: string; readonly records_checked: number } | null;
    readonly drifts: readonly {
      readonly check: string;
      readonly account_id: string | null;
      readonly request_id: string | null;
      readonly what: string;
    }[];
  } | null;
  readonly upstreams:
    | readonly {
        readonly id: string;
        readonly enabled: boolean;
        readonly last_test: { readonly ok: boolean; readonly failed_step: string | null; readonly at: string } | null;
      }[]
    | null;
}

/** What query keys begin with. */
export const operatorKeys = {
  accounts: ['operator', 'accounts'],
  account: (id: string) => ['operator', 'account', id] as const,
  entries: (id: string) => ['operator', 'entries', id] as const,
  settings: ['operator', 'settings'],
  users: ['operator', 'users'],
  audit: ['operator', 'audit'],
  health: ['operator', 'health'],
} as const;

const account = (id: string): string => `/operator/accounts/${id}`;

export const getOperatorSettings = (signal?: AbortSignal) =>
  api.get<{ readonly confirm_above_usd: string }>('/operator/settings', { signal });
export const listAccounts = (query: { search: string; state: string; cursor: string | null }, signal?: AbortSignal) =>
  api.get<Page<OperatorAccount>>('/operator/accounts', { query, signal });
export const createAccount = (name: string, idempotencyKey: string) =>
  api.post<OperatorAccount>('/operator/accounts', { body: { name }, idempotencyKey });
export const getAccount = (id: string, signal?: AbortSignal) => api.get<OperatorAccountDetail>(account(id), { signal });
export const renameAccount = (id: string, name: string) => api.patch<OperatorAccount>(account(id), { body: { name } });
export const setAccountState = (id: string, deed: 'suspend' | 'resume', reason: string) =>
  api.post<OperatorAccount>(`${account(id)}/${deed}`, { body: { reason } });
export const listEntries = (id: string, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<JournalEntry>>(`/accounts/${id}/entries`, { query: { cursor }, signal });
export const postMoney = (id: string, deed: 'credits' | 'debits', body: object, idempotencyKey: string) =>
  api.post<Posted>(`${account(id)}/${deed}`, { body, idempotencyKey });
export const reverseEntry = (id: string, entry: string, body: object) =>
  api.post<Posted>(`${account(id)}/entries/${entry}/reverse`, { body });

export const listUsers = (search: string, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<OperatorUser>>('/operator/users', { query: { search, cursor }, signal });
export const createUser = (body: object) =>
  api.post<{ readonly user: OperatorUser; readonly link: SignInLink | null }>('/operator/users', { body });
export const updateUser = (id: string, body: object) => api.patch<OperatorUser>(`/operator/users/${id}`, { body });
export const createLink = (id: string) => api.post<SignInLink>(`/operator/users/${id}/link`, { body: {} });
export const endAllSessions = (id: string) => api.delete<{ readonly ended: number }>(`/operator/users/${id}/sessions`);

/** The filter of the audit log, as it stands in the address. */
export type AuditFilter = Readonly<Record<'actor' | 'action' | 'account' | 'target' | 'from' | 'until', string>>;
export const listAuditEvents = (filter: AuditFilter, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<AuditEvent>>('/operator/audit', { query: { ...filter, cursor }, signal });
export const auditExportUrl = (filter: AuditFilter, format: 'csv' | 'jsonl'): string =>
  apiUrl('/operator/audit/export', { ...filter, format });
export const verifyAuditLog = () => api.post<AuditCheck>('/operator/audit/verify', { body: {} });

export const getHealth = (signal?: AbortSignal) => api.get<Health>('/operator/health', { signal });
export const checkLedger = () => api.post<LedgerCheck>('/operator/health/ledger-check', { body: {} });
