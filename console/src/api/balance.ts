// The money of an account.
import { api } from './client.js';

/** Decimal-string USD. `available` = `settled` − `held`. */
export interface Balance {
  readonly settled_usd: string;
  readonly credited_usd: string;
  readonly spent_usd: string;
  readonly held_usd: string;
  readonly available_usd: string;
  /** The account's alert is on, and the settled balance is below its threshold. */
  readonly low: boolean;
  /** Null while no alert is on. */
  readonly threshold_usd: string | null;
}

export const getBalance = (accountId: string, signal?: AbortSignal): Promise<Balance> =>
  api.get<Balance>(`/accounts/${accountId}/balance`, { signal });
