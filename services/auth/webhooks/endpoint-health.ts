// Follows the attempts of each endpoint, and disables an endpoint that has failed for days.
import type { Database } from '#kit/db/open.js';
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import { type Clock, dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import type { Logger } from '#kit/log.js';
import { NotificationState } from '#proto/auth/v1/notifications.js';
import type { WebhookEndpoint } from '#proto/auth/v1/webhooks.js';
import { mailLanguage } from '#rules/mail-language.js';
import { finding } from '#rules/errors/finding-sentences.js';
import type { WebhookBody } from '#rules/webhook-events.js';
import { attemptsMax, noEvent, type StoredNotification } from '../notifications/model.js';
import type { Notifier } from '../notifications/notifier.js';
import type { NotificationStore } from '../notifications/store.js';
import type { MailBudget } from '../users/store/mail-budget.js';
import type { Attempted } from '../notifications/try-delivery.js';
import type { AttemptedAddress, WebhookEndpointStore } from './endpoint-store.js';

/** How long every attempt may fail before the endpoint is disabled. */
export const failingMsMax = 3 * dayMs;

/**
 * The longest time between two failures of the same outage. While no request is sent to an endpoint, nothing is known about it, so two failures
 * that are further apart are not one outage. Requests are retried sooner than this.
 */
export const failurePauseMsMax = dayMs;

/** Most mails about endpoints to one address within an hour: an endpoint that is gone can be enabled and tried again and again. */
export const mailsPerHourMax = 20;

/** Holds the dependencies of `EndpointHealth`. */
export interface EndpointHealthDeps {
  readonly db: Database;
  readonly endpoints: WebhookEndpointStore;
  readonly notifications: NotificationStore;
  readonly notifier: Pick<Notifier, 'add'>;
  readonly budget: Pick<MailBudget, 'take'>;
  readonly audit: AuditLog;
  /** Returns the addresses of the owners of an account. */
  ownersOf(accountId: string): Promise<readonly string[]>;
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Records the outcomes of attempts. */
export class EndpointHealth {
  constructor(private readonly deps: EndpointHealthDeps) {}

  async note(notification: StoredNotification, { state, isGone, outcome }: Attempted): Promise<void> {
    const { endpoints, clock } = this.deps;
    const { accountId, endpointId, destination, eventJson } = notification;
    if (accountId === undefined || endpointId === undefined || state === NotificationState.NOTIFICATION_STATE_WITHDRAWN) return;
    // An owner can change the address while a request is in flight, and its outcome says nothing about the new address.
    const attempted = { id: endpointId, url: destination };
    if (state === NotificationState.NOTIFICATION_STATE_DELIVERED) return endpoints.noteSuccess(attempted);
    // Users send test events while they set up an endpoint that does not work yet.
    if ((JSON.parse(eventJson) as WebhookBody).test === true) return;
    const nowMs = clock.nowMs();
    const sinceMs = await endpoints.noteFailure(attempted, nowMs, failurePauseMsMax);
    if (!isGone && nowMs - sinceMs < failingMsMax) return;
    await this.disable(accountId, attempted, outcome, { nowMs, failingByMs: isGone ? undefined : nowMs - failingMsMax });
  }

  private async disable(
    accountId: string,
    attempted: AttemptedAddress,
    outcome: string,
    { nowMs, failingByMs }: { nowMs: number; failingByMs: number | undefined },
  ): Promise<void> {
    const { db, endpoints, notifications, notifier, budget, audit, log } = this.deps;
    const owners = await this.deps.ownersOf(accountId);
    await db.transaction(async (tx) => {
      const endpoint = await endpoints.disableFailed(tx, attempted, nowMs, failingByMs);
      if (endpoint === undefined) return;
      const endpointId = endpoint.id;
      await notifications.withdrawFrom(tx, endpointId, { outcome: finding('endpoint_disabled', {}), dueAtMs: nowMs });
      for (const destination of owners) {
        const mail = { id: newId('ntf', nowMs), accountId, dependsOn: '', destination, eventJson: noEvent, attemptsMax };
        const isWithin = await budget.take(`endpoint to ${destination}`, mailsPerHourMax, nowMs, tx);
        const refusal = isWithin ? {} : { refusal: finding('too_many_emails', {}) };
        await notifier.add(tx, { ...mail, content: this.mailText(endpoint), ...refusal });
      }
      const detail = { url: new URL(endpoint.url).origin, outcome };
      await audit.append(tx, { caller: 'auth' }, { action: 'webhook.disable', accountId, targetId: endpointId, detail });
      log.warn({ account_id: accountId, endpoint_id: endpointId }, 'a webhook endpoint was disabled, because its requests failed');
    });
  }

  /**
   * The mail contains neither the whole address nor the response: the users of an account choose both, and an owner need not own the email address that
   * they entered, so a user could otherwise have any text sent to a stranger.
   */
  private mailText({ accountId, url, language }: WebhookEndpoint): { subject: string; text: string } {
    const { host } = new URL(url);
    const { publicUrl } = this.deps;
    const page = publicUrl === undefined ? undefined : `${publicUrl}/console/accounts/${accountId}/webhooks`;
    const { subject, lines } = {
      en: {
        subject: `Webhook endpoint disabled: ${host}`,
        lines: [
          `A webhook endpoint at ${host} of account ${accountId} was disabled because all requests to it failed for three days, or because it responded with 410 (Gone).`,
          '',
          'Events are no longer sent to it. This page shows its last responses. When it works again, enable it there and resend the events that it missed:',
          page ?? 'the console, under Webhooks',
        ],
      },
      'zh-CN': {
        subject: `Webhook 端点已停用：${host}`,
        lines: [
          `账户 ${accountId} 位于 ${host} 的一个 Webhook 端点已被停用，因为发往它的请求连续三天全部失败，或它返回了 410（Gone）。`,
          '',
          '事件不再发往该端点。您可以在以下页面查看它最近的响应；端点恢复正常后，请在该页面重新启用，并重新发送错过的事件：',
          page ?? '控制台的“Webhook”页面',
        ],
      },
    }[mailLanguage(language)];
    return { subject, text: [...lines, ''].join('\n') };
  }
}
