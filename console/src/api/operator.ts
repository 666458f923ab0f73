// Operators' calls: accounts, money, users, the audit log and the health of the system.
import type { Entry, EntryDetail, Posted } from '../../../gateway/console/schemas/billing.js';
import type {
  Account,
  AccountDetail,
  AccountInList,
  Credit,
  Debit,
  OperatorSettings,
  Reverse,
} from '../../../gateway/console/schemas/operator/accounts.js';
import type { AuditCheck, AuditEvent } from '../../../gateway/console/schemas/operator/audit.js';
import type { Caller } from '../../../gateway/console/schemas/operator/callers.js';
import type { Health, LedgerCheck } from '../../../gateway/console/schemas/operator/health.js';
import type { CreateUser, OperatorUser, SignInLink, UpdateUser, UserCreated } from '../../../gateway/console/schemas/operator/users.js';
import type { Ended } from '../../../gateway/console/schemas/profile.js';
import type { AccountRateLimitsBody } from '../../../gateway/console/schemas/rate-limits.js';
import { api, apiUrl, type Page } from './client.js';

export type {
  AccountDetail as OperatorAccountDetail,
  AccountInList as OperatorAccount,
  AuditCheck,
  AuditEvent,
  Caller,
  Entry as JournalEntry,
  Health,
  LedgerCheck,
  OperatorUser,
  Posted,
  SignInLink,
};

/** The beginning of the query keys. */
export const operatorKeys = {
  accounts: ['operator', 'accounts'],
  account: (id: string) => ['operator', 'account', id] as const,
  entries: (id: string) => ['operator', 'entries', id] as const,
  entry: (id: string, entry: string) => ['operator', 'entries', id, entry] as const,
  settings: ['operator', 'settings'],
  users: ['operator', 'users'],
  callers: ['operator', 'callers'],
  audit: ['operator', 'audit'],
  health: ['operator', 'health'],
} as const;

const account = (id: string): string => `/operator/accounts/${id}`;

export const getOperatorSettings = (signal?: AbortSignal) => api.get<OperatorSettings>('/operator/settings', { signal });
export const listAccounts = (query: { search: string; state: string; cursor: string | null }, signal?: AbortSignal) =>
  api.get<Page<AccountInList>>('/operator/accounts', { query, signal });
export const createAccount = (name: string, idempotencyKey: string) =>
  api.post<Account>('/operator/accounts', { body: { name }, idempotencyKey });
export const getAccount = (id: string, signal?: AbortSignal) => api.get<AccountDetail>(account(id), { signal });
export const renameAccount = (id: string, name: string) => api.patch<Account>(account(id), { body: { name } });
export const setAccountRateLimits = (id: string, body: AccountRateLimitsBody) =>
  api.patch<Account>(account(id), { body: { rate_limits: body } });
export const setAccountState = (id: string, action: 'suspend' | 'resume', reason: string) =>
  api.post<Account>(`${account(id)}/${action}`, { body: { reason } });
export const listEntries = (id: string, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<Entry>>(`/accounts/${id}/entries`, { query: { cursor }, signal });
export const postMoney = (id: string, action: 'credits' | 'debits', body: Credit | Debit, idempotencyKey: string) =>
  api.post<Posted>(`${account(id)}/${action}`, { body, idempotencyKey });
export const getEntry = (id: string, entry: string, signal?: AbortSignal) =>
  api.get<EntryDetail>(`${account(id)}/entries/${entry}`, { signal });
export const reverseEntry = (id: string, entry: string, body: Reverse) =>
  api.post<Posted>(`${account(id)}/entries/${entry}/reverse`, { body });

export const listUsers = (search: string, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<OperatorUser>>('/operator/users', { query: { search, cursor }, signal });
export const createUser = (body: CreateUser) => api.post<UserCreated>('/operator/users', { body });
export const updateUser = (id: string, body: UpdateUser) => api.patch<OperatorUser>(`/operator/users/${id}`, { body });
export const createLink = (id: string) => api.post<SignInLink>(`/operator/users/${id}/link`, { body: {} });
export const resetSecondFactors = (id: string) => api.delete<OperatorUser>(`/operator/users/${id}/second-factors`);
export const endAllSessions = (id: string) => api.delete<Ended>(`/operator/users/${id}/sessions`);

export const listCallers = (signal?: AbortSignal) => api.get<Page<Caller>>('/operator/callers', { signal });

/** The filter of the audit log, as in the address. */
export type AuditFilter = Readonly<Record<'actor' | 'action' | 'account' | 'target' | 'from' | 'until', string>>;
export const listAuditEvents = (filter: AuditFilter, cursor: string | null, signal?: AbortSignal) =>
  api.get<Page<AuditEvent>>('/operator/audit', { query: { ...filter, cursor }, signal });
export const auditExportUrl = (filter: AuditFilter, format: 'csv' | 'jsonl'): string =>
  apiUrl('/operator/audit/export', { ...filter, format });
export const verifyAuditLog = () => api.post<AuditCheck>('/operator/audit/verify', { body: {} });

export const getHealth = (signal?: AbortSignal) => api.get<Health>('/operator/health', { signal });
export const checkLedger = () => api.post<LedgerCheck>('/operator/health/ledger-check', { body: {} });
