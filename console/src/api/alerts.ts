// The low-balance alert of an account, and what was sent for it. Amounts are decimal-string USD.
import type { Alert, AlertNow, Delivery, PutAlert } from '../../../gateway/console/schemas/alerts.js';
import { api, type Page } from './client.js';

export type { Alert, AlertNow, Delivery, PutAlert as AlertChange };

const of = (accountId: string): string => `/accounts/${accountId}/alerts`;

export const getAlert = (accountId: string, signal?: AbortSignal): Promise<AlertNow> => api.get(of(accountId), { signal });
export const putAlert = (accountId: string, change: PutAlert): Promise<Alert> => api.put(of(accountId), { body: change });
/** Sends a test notification now and waits for the results. */
export const testAlert = (accountId: string): Promise<{ readonly data: readonly Delivery[] }> => api.post(`${of(accountId)}/test`);
export const listDeliveries = (accountId: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Delivery>> =>
  api.get(`${of(accountId)}/deliveries`, { query: { cursor, limit: 20 }, signal });
