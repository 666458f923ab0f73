import { expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { ManualClock } from '#kit/clock.js';
import { MailFailure } from '#kit/mail/mailer.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { silentLog } from '#kit/testing/log.js';
import { NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { TestMailer } from '../testing/test-mailer.js';
import { attemptsMax, noEvent, type StoredNotification } from './model.js';
import { type DeliveryDeps, sealContent, tryDelivery } from './try-delivery.js';

const id = `ntf_${'1'.repeat(32)}`;
const clock = new ManualClock();
const box = new SecretBox(fixedSecretKeys(randomBytes(32)));
const content = { subject: 'Your invitation', text: 'Accept it.' };

/** Attempts a delivery and returns its outcome and what was sent. */
async function attempt(fields: Partial<StoredNotification>, changes: Partial<DeliveryDeps> = {}) {
  const mailer = new TestMailer();
  const notification: StoredNotification = {
    id,
    accountId: undefined,
    dependsOn: '',
    channel: NotificationChannel.NOTIFICATION_CHANNEL_MAIL,
    endpointId: undefined,
    destination: 'ada@example.com',
    eventJson: noEvent,
    state: NotificationState.NOTIFICATION_STATE_PENDING,
    attempts: 1,
    attemptsMax,
    outcome: '',
    sealedContent: sealContent(id, content, box),
    dueAtMs: 0,
    ...fields,
  };
  const deps = {
    box,
    mailer,
    clock,
    log: silentLog,
    isWanted: async () => true,
    notifications: { extendClaim: async () => {} },
    endpoints: { signingSecrets: async () => [] },
    config: { notificationRetryMs: 10_000, notificationIntervalMs: 1000, privateWebhooks: false },
    ...changes,
  } as unknown as DeliveryDeps;
  const { state, outcome, dueAtMs } = await tryDelivery(notification, deps);
  return { state: NotificationState[state], outcome, waitMs: dueAtMs - clock.nowMs(), sent: mailer.mails };
}

it('sends a mail if what it depends on exists', async () => {
  expect(await attempt({ dependsOn: 'invitation inv_1' })).toMatchObject({
    state: 'NOTIFICATION_STATE_DELIVERED',
    sent: [{ to: 'ada@example.com', ...content, id }],
  });
});

it('does not send a mail whose link has ended', async () => {
  expect(await attempt({ dependsOn: 'invitation inv_1' }, { isWanted: async () => false })).toEqual({
    state: 'NOTIFICATION_STATE_WITHDRAWN',
    outcome: 'the link in it is no longer valid',
    waitMs: 0,
    sent: [],
  });
});

it.each<[string, Partial<StoredNotification>, string]>([
  ['the content of another notification', { sealedContent: sealContent('ntf_2', content, box) }, 'its content can no longer be decrypted'],
  [
    'content sealed with a lost key',
    { sealedContent: sealContent(id, content, new SecretBox(fixedSecretKeys(randomBytes(32)))) },
    'its content can no longer be decrypted',
  ],
  ['no content', { sealedContent: undefined }, 'its content can no longer be decrypted'],
  [
    'a webhook whose signing secrets cannot be decrypted',
    { channel: NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK, endpointId: 'wh_1', destination: 'https://example.com' },
    'the signing secret can no longer be decrypted; rotate it',
  ],
])('gives up with %s, and says why', async (_, fields, outcome) => {
  expect(await attempt(fields)).toEqual({ state: 'NOTIFICATION_STATE_FAILED', outcome, waitMs: 0, sent: [] });
});

it('fails without an outcome after an error that is not the mail server’s, so that the attempt is repeated', async () => {
  const mailer = { send: () => Promise.reject(new TypeError('a defect')), close: () => undefined };
  await expect(attempt({}, { mailer })).rejects.toThrow('a defect');
});

it.each([
  [1, 10_000],
  [5, 2_560_000],
  [8, 12 * 3_600_000],
])('waits longer after each attempt: after attempt %d for %d ms', async (attempts, waitMs) => {
  const mailer = new TestMailer();
  mailer.failures.push(new MailFailure('454 not now', false));
  expect(await attempt({ attempts, attemptsMax: 9 }, { mailer })).toMatchObject({ state: 'NOTIFICATION_STATE_PENDING', waitMs });
});
