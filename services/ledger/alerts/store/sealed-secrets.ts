// The sealed secrets of webhooks: in alerts, and in notifications on their way to auth.
import type { Database } from '#kit/db/open.js';
import { asBytes, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { SealedSecret } from '#kit/secrets/secret-keeper.js';
import type { NotificationEntry } from '#proto/auth/v1/notifications.js';
import { notificationOutbox, sealedSecretOf, sealPurpose, withSealedSecret } from '../notification-outbox.js';

/** Returns them all. A discarded secret of an alert is created again when its owner saves the alert. */
export async function readSealedSecrets({ knex }: Database): Promise<SealedSecret[]> {
  const alerts = (await knex('alert').whereNotNull('sealed_secret').select('slot', 'account_id', 'sealed_secret')) as Record<
    string,
    unknown
  >[];
  const messages = (await knex(notificationOutbox).select('id', 'message')) as Record<string, unknown>[];
  return [
    ...alerts.map((row): SealedSecret => {
      const sealed = asText(row['sealed_secret']);
      const account = asBytes(row['account_id']);
      return {
        sealed,
        purpose: sealPurpose(idFromBytes('acct', account)),
        async replace(by) {
          await knex('alert')
            .where({ slot: row['slot'], account_id: account, sealed_secret: sealed })
            .update({ sealed_secret: by ?? null });
        },
      };
    }),
    ...messages.flatMap((row): SealedSecret[] => {
      const entry = JSON.parse(asText(row['message'])) as NotificationEntry;
      const sealed = sealedSecretOf(entry);
      if (sealed === '') return [];
      return [
        {
          sealed,
          purpose: sealPurpose(entry.accountId),
          async replace(by) {
            // A message never changes otherwise; it may have been shipped meanwhile.
            await knex(notificationOutbox)
              .where({ id: asBytes(row['id']) })
              .update({ message: JSON.stringify(withSealedSecret(entry, by ?? '')) });
          },
        },
      ];
    }),
  ];
}
