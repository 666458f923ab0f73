// Redemption codes, for operators. Amounts are decimal-string USD.
import { api, type Page } from './client.js';

/** How a code stands. */
export const codeStates = ['open', 'redeemed', 'void', 'claimed', 'expired'] as const;
export type CodeState = (typeof codeStates)[number];

/** A code without its secret. */
export interface Code {
  readonly id: string;
  readonly batch_id: string;
  readonly last_four: string;
  readonly amount_usd: string;
  readonly state: CodeState;
  readonly note: string | null;
  readonly created_by: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly ended_at: string | null;
  readonly account_id: string | null;
  readonly entry_id: string | null;
}

/** Codes that were made together, each with its secret, which is told once. */
export interface MadeCodes {
  readonly batch_id: string;
  readonly data: readonly (Code & { readonly code: string })[];
}

/** What codes are made of. */
export interface NewCodes {
  readonly amount_usd: string;
  readonly count: number;
  readonly expires_at: string | null;
  readonly note: string;
  /** What they are worth together, again; needed where it is much. */
  readonly confirm_amount_usd?: string;
}

/** Newest first. */
export const listCodes = (state: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Code>> =>
  api.get('/operator/codes', { query: { state, limit: 50, cursor }, signal });

export const createCodes = (codes: NewCodes): Promise<MadeCodes> => api.post('/operator/codes', { body: codes });

/** Takes a code out of use, or those of a batch that nobody has redeemed. */
export const voidCodes = (id: string): Promise<{ readonly voided: number }> => api.post(`/operator/codes/${id}/void`, { body: {} });
