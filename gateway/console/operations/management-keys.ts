// Management keys of an account. No operation here has a scope: a key cannot create or widen keys.
import { CreateManagementKeyRequest } from '#proto/auth/v1/users.js';
import { renderManagementKey } from '../render/management-keys.js';
import { CreateManagementKey, ManagementKey, ManagementKeyCreated, ManagementKeyList } from '../schemas/management-keys.js';
import { type Area, created, ok, operation } from '../table/operation.js';
import { futureMs } from '../instants.js';

export const managementKeys: Area = {
  title: 'Management keys',
  description: 'Keys for programs that call this API.',
  operations: [
    operation('GET', '/accounts/{account}/management-keys', {
      summary: 'List the management keys, newest first, including expired and revoked ones.',
      who: 'change members',
      answers: [ok(ManagementKeyList)],
      handle: async ({ accountId, context }, { peers, clock }) => {
        const { keys } = await peers.users.listManagementKeys({ accountId }, context());
        return { data: keys.map((key) => renderManagementKey(key, clock.nowMs())) };
      },
    }),
    operation('POST', '/accounts/{account}/management-keys', {
      summary: 'Create a management key, which acts for the user of the session.',
      who: 'change members',
      body: CreateManagementKey,
      answers: [created(ManagementKeyCreated, 'This is the only answer that contains the secret.')],
      errors: { failed_precondition: 'The account has 100 keys that are not revoked, or the project is deleted.' },
      handle: async ({ accountId, body, visitor, context }, { peers, clock }) => {
        const request = CreateManagementKeyRequest.fromPartial({
          accountId,
          name: body.name,
          scopes: body.scopes,
          projectId: body.project_id ?? '',
          userId: visitor.user.id,
          allowedAddresses: body.allowed_addresses ?? [],
          ...(body.expires_at == null ? {} : { expiresAtMs: futureMs('expires_at', body.expires_at, clock.nowMs(), 'future_expiry') }),
        });
        const { key, secret } = await peers.users.createManagementKey(request, context());
        return { key: renderManagementKey(key!, clock.nowMs()), secret };
      },
    }),
    operation('POST', '/accounts/{account}/management-keys/{key}/revoke', {
      summary: 'Revoke a management key immediately and permanently.',
      who: 'change members',
      answers: [ok(ManagementKey)],
      handle: async ({ accountId, params, context }, { peers, clock }) => {
        const { key } = await peers.users.revokeManagementKey({ accountId, keyId: params.key }, context());
        return renderManagementKey(key!, clock.nowMs());
      },
    }),
  ],
};
