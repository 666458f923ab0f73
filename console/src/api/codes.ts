// Redemption codes, for operators. Amounts are decimal-string USD.
import type { Code, CodesCreated, CodeState, CreateCodes, Voided } from '../../../gateway/console/schemas/operator/codes.js';
import { api, type Page } from './client.js';

export type { Code, CodesCreated, CodeState, CreateCodes };

/** The states of a code, in the order of the filter. */
export const codeStates = ['open', 'redeemed', 'void', 'claimed', 'expired'] as const satisfies readonly CodeState[];

/** Newest first. */
export const listCodes = (state: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Code>> =>
  api.get('/operator/codes', { query: { state, limit: 50, cursor }, signal });

export const createCodes = (codes: CreateCodes): Promise<CodesCreated> => api.post('/operator/codes', { body: codes });

/** Voids a code, or with the id of a batch all of its codes that are not redeemed. */
export const voidCodes = (id: string): Promise<Voided> => api.post(`/operator/codes/${id}/void`, { body: {} });
