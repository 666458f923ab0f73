// The sealed secrets in the database of auth: signing keys, second factors, the secrets of webhook endpoints, and mails that are not completed.
import type { Database } from '#kit/db/open.js';
import { asBytes, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { SealedSecret } from '#kit/secrets/secret-keeper.js';
import { NotificationState } from '#proto/auth/v1/notifications.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { signingKeyPurpose } from '../actors/signing-keys.js';
import { contentPurpose } from '../notifications/try-delivery.js';
import { factorPurpose, toStoredFactor } from '../users/second-factor/store.js';
import { endpointPurpose } from '../webhooks/endpoint-store.js';

const endpointSecrets = ['sealed_secret', 'sealed_previous_secret'] as const;

/**
 * Returns them all. Discarding a signing key makes auth create another one. A second factor without its data accepts nothing: its user signs in with a
 * recovery code, or the operator removes it. It is not deleted, since that would admit users without it. Discarding any other secret makes the
 * deliveries that need it fail.
 */
export async function readSealedSecrets({ knex }: Database): Promise<SealedSecret[]> {
  const keys = (await knex('signing_key').select('number', 'kid', 'sealed_private_key')) as Record<string, unknown>[];
  const notifications = (await knex('notification').whereNotNull('sealed_content').select('id', 'sealed_content')) as Record<
    string,
    unknown
  >[];
  const endpoints = (await knex('webhook_endpoint').select('id', ...endpointSecrets)) as Record<string, unknown>[];
  const factors = (await knex('second_factor').whereNot('sealed_data', '').select()) as Record<string, unknown>[];
  return [
    ...factors.map((row): SealedSecret => {
      const stored = toStoredFactor(row);
      const isIt = { id: row['id'], sealed_data: stored.sealedData };
      return {
        sealed: stored.sealedData,
        purpose: factorPurpose(stored),
        async replace(by) {
          await knex('second_factor')
            .where(isIt)
            .update({ sealed_data: by ?? '' });
        },
      };
    }),
    ...endpoints.flatMap((row) =>
      endpointSecrets.flatMap((column): SealedSecret[] => {
        if (row[column] === null) return [];
        const id = asBytes(row['id']);
        const sealed = asText(row[column]);
        return [
          {
            sealed,
            purpose: endpointPurpose(idFromBytes('whe', id)),
            async replace(by) {
              await knex('webhook_endpoint')
                .where({ id, [column]: sealed })
                .update({ [column]: by ?? null });
            },
          },
        ];
      }),
    ),
    ...keys.map((row): SealedSecret => {
      const sealed = asText(row['sealed_private_key']);
      const isIt = { number: row['number'], sealed_private_key: sealed };
      return {
        sealed,
        purpose: signingKeyPurpose(asText(row['kid'])),
        async replace(by) {
          if (by === undefined) await knex('signing_key').where(isIt).delete();
          else await knex('signing_key').where(isIt).update({ sealed_private_key: by });
        },
      };
    }),
    ...notifications.map((row): SealedSecret => {
      const id = asBytes(row['id']);
      const sealed = asText(row['sealed_content']);
      return {
        sealed,
        purpose: contentPurpose(idFromBytes('ntf', id)),
        async replace(by) {
          const lost = { state: NotificationState.NOTIFICATION_STATE_FAILED, outcome: finding('lost_key', {}) };
          await knex('notification')
            .where({ id, sealed_content: sealed })
            .update({ sealed_content: by ?? null, ...(by === undefined ? lost : {}) });
        },
      };
    }),
  ];
}
