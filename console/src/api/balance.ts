// The balance of an account.
import type { BalanceNow } from '../../../gateway/console/schemas/billing.js';
import { api } from './client.js';

export const getBalance = (accountId: string, signal?: AbortSignal): Promise<BalanceNow> =>
  api.get(`/accounts/${accountId}/balance`, { signal });
