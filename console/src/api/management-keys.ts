// Management keys of an account.
import type { CreateManagementKey, ManagementKey, ManagementKeyCreated } from '../../../gateway/console/schemas/management-keys.js';
import { api } from './client.js';

export type { CreateManagementKey, ManagementKey, ManagementKeyCreated };

const keysOf = (accountId: string): string => `/accounts/${accountId}/management-keys`;

/** Newest first. */
export const listManagementKeys = (accountId: string, signal?: AbortSignal): Promise<{ data: ManagementKey[] }> =>
  api.get(keysOf(accountId), { signal });

export const createManagementKey = (accountId: string, fields: CreateManagementKey): Promise<ManagementKeyCreated> =>
  api.post(keysOf(accountId), { body: fields });

export const revokeManagementKey = (accountId: string, keyId: string): Promise<ManagementKey> =>
  api.post(`${keysOf(accountId)}/${keyId}/revoke`, { body: {} });
