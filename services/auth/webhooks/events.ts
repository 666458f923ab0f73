// Turns events into requests to the endpoints that receive them. The ids of the requests follow from the event and the endpoint, so that an event that
// is published twice is sent once.
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { derivedId, idTimeMs, isId } from '#kit/id.js';
import { type WebhookEndpoint, WebhookEndpointState } from '#proto/auth/v1/webhooks.js';
import { type WebhookEventType, webhookEventTypes } from '#rules/webhook-events.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { webhookAttemptsMax } from '../notifications/model.js';
import type { Notifier } from '../notifications/notifier.js';
import type { NotificationStore } from '../notifications/store.js';
import type { WebhookEndpointStore } from './endpoint-store.js';

/** Requests that may wait for one endpoint. Further events are listed as failed, and can be sent again. */
export const pendingMax = 1000;
const endpointsPerPage = 200;

/** An event with its body. */
export interface PublishedEvent {
  readonly id: string;
  readonly type: WebhookEventType;
  readonly json: string;
}

/** Returns the event of a body; undefined if it is none. */
export function parsedEvent(json: string): PublishedEvent | undefined {
  try {
    const { id, type } = JSON.parse(json) as { id: string; type: WebhookEventType };
    return isId('evt', id) && webhookEventTypes.includes(type) ? { id, type, json } : undefined;
  } catch {
    return undefined;
  }
}

/** Publishes events. */
export class WebhookPublisher {
  constructor(
    private readonly deps: {
      readonly db: Database;
      readonly endpoints: WebhookEndpointStore;
      readonly notifications: NotificationStore;
      readonly notifier: Pick<Notifier, 'add'>;
    },
  ) {}

  /** Sends an event to the endpoints of an account once the transaction has committed; without an account, to those of all accounts. */
  async publish(tx: Knex.Transaction, event: PublishedEvent, accountId: string | undefined): Promise<void> {
    const { endpoints, notifications, notifier } = this.deps;
    if (accountId !== undefined) return this.deliver(tx, event, await endpoints.ofAccount(accountId, tx));
    const id = deliveryIdOf(event.id, 'every account');
    if ((await notifications.find([id], tx)).length > 0) return;
    const toAll = { id, accountId: undefined, dependsOn: '', destination: 'every account', eventJson: event.json };
    await notifier.add(tx, { ...toAll, attemptsMax: webhookAttemptsMax, content: undefined });
  }

  /** Adds an event for every account to all endpoints, page by page. A repeat after a crash adds only what is missing. */
  async fanOut({ eventJson }: { readonly eventJson: string }): Promise<void> {
    const event = parsedEvent(eventJson)!;
    let after: string | undefined;
    do {
      const page = await this.deps.endpoints.enabledAfter(after, endpointsPerPage);
      await this.deps.db.transaction((tx) => this.deliver(tx, event, page));
      after = page.length < endpointsPerPage ? undefined : page.at(-1)!.id;
    } while (after !== undefined);
  }

  private async deliver(tx: Knex.Transaction, event: PublishedEvent, endpoints: readonly WebhookEndpoint[]): Promise<void> {
    const { endpoints: store, notifications, notifier } = this.deps;
    const wanted = endpoints.filter(
      ({ state, eventTypes }) => state === WebhookEndpointState.WEBHOOK_ENDPOINT_STATE_ENABLED && eventTypes.includes(event.type),
    );
    if (wanted.length === 0) return;
    // One that is being disabled would otherwise get this request after its pending ones are withdrawn.
    const receivers = await store.lockedEnabled(
      tx,
      wanted.map(({ id }) => id),
    );
    const idTo = new Map(receivers.map(({ id }) => [id, deliveryIdOf(event.id, id)]));
    const known = new Set((await notifications.find([...idTo.values()], tx)).map(({ id }) => id));
    const pending = await notifications.pendingOf(tx, [...idTo.keys()]);
    for (const endpoint of receivers) {
      const id = idTo.get(endpoint.id)!;
      if (known.has(id)) continue;
      const isFull = (pending.get(endpoint.id) ?? 0) >= pendingMax;
      await notifier.add(tx, {
        ...requestTo(endpoint, event, id),
        attemptsMax: webhookAttemptsMax,
        ...(isFull ? { refusal: finding('endpoint_full', { max: pendingMax }) } : {}),
      });
    }
  }
}

/** Returns the fields of the notification of an event to an endpoint. */
export function requestTo({ id: endpointId, accountId, url }: WebhookEndpoint, { json }: PublishedEvent, id: string) {
  return { id, accountId, endpointId, dependsOn: '', destination: url, eventJson: json, content: undefined } as const;
}

/** Returns an id with the time of the event. */
function deliveryIdOf(eventId: string, endpointId: string): string {
  return derivedId('ntf', idTimeMs('evt', eventId), `${eventId} ${endpointId}`);
}
