// The low-balance alert of an account, and what was sent for it. Amounts are decimal-string USD.
import { api, type Page } from './client.js';

/** Who is told when how little is left. */
export interface Alert {
  readonly enabled: boolean;
  /** Null: it was never set. */
  readonly threshold_usd: string | null;
  readonly emails: readonly string[];
  readonly webhook_url: string | null;
  /** It fired and has not been armed again since. */
  readonly fired: boolean;
  readonly fired_at: string | null;
  readonly updated_at: string | null;
}

/** An alert and how the balance stands to it. */
export interface AlertNow extends Alert {
  readonly settled_usd: string;
  readonly low: boolean;
  /** To what the settled balance has to rise before a fired alert is armed again. */
  readonly rearm_at_usd: string | null;
  /** Whether the installation can send mail. */
  readonly mail_configured: boolean;
}

/** All of an alert, as it is to be. */
export interface AlertChange {
  readonly enabled: boolean;
  readonly threshold_usd: string;
  readonly emails: readonly string[];
  readonly webhook_url: string | null;
  readonly rotate_webhook_secret?: boolean;
}

export interface AlertSaved {
  readonly alert: Alert;
  /** Only when it has just been made. */
  readonly webhook_secret: string | null;
}

/** One message to one destination. */
export interface Delivery {
  readonly id: string;
  readonly test: boolean;
  readonly channel: 'mail' | 'webhook';
  readonly destination: string;
  readonly state: 'pending' | 'delivered' | 'failed' | 'withdrawn';
  readonly attempts: number;
  /** What the peer said to the last try. */
  readonly outcome: string;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
}

const of = (accountId: string): string => `/accounts/${accountId}/alerts`;

export const getAlert = (accountId: string, signal?: AbortSignal): Promise<AlertNow> => api.get(of(accountId), { signal });
export const putAlert = (accountId: string, change: AlertChange): Promise<AlertSaved> => api.put(of(accountId), { body: change });
/** Sends at once and waits for what comes of it. */
export const testAlert = (accountId: string): Promise<{ readonly data: readonly Delivery[] }> => api.post(`${of(accountId)}/test`);
export const listDeliveries = (accountId: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Delivery>> =>
  api.get(`${of(accountId)}/deliveries`, { query: { cursor, limit: 20 }, signal });
