// The events that Tollgate posts to webhooks: their types, and the data of each. Pure.

/** The prices of a model, in decimal USD per million tokens. */
interface EventPrice {
  readonly input: string;
  readonly cache_read: string;
  readonly cache_write_5m: string;
  readonly cache_write_1h: string;
  readonly output: string;
  /** Null: charged as output. */
  readonly reasoning: string | null;
}

/** The data of each event, by its type. */
export interface WebhookEvents {
  readonly 'balance.low': { readonly threshold_usd: string; readonly settled_usd: string; readonly available_usd: string };
  readonly 'budget.reached': {
    readonly budget_id: string;
    readonly scope: 'account' | 'project' | 'key';
    readonly scope_id: string;
    readonly period: 'lifetime' | 'month' | 'week' | 'day';
    readonly period_start: string | null;
    readonly resets_at: string | null;
    readonly soft: boolean;
    readonly percent: number;
    readonly limit_usd: string;
    readonly spent_usd: string;
  };
  readonly 'funds.added': {
    readonly entry_id: string;
    readonly amount_usd: string;
    readonly source: 'cash' | 'promotion' | 'correction';
    readonly reason: string;
    readonly available_usd: string;
  };
  readonly 'key.created': { readonly key_id: string; readonly project_id: string; readonly name: string };
  readonly 'key.refused': { readonly key_id: string; readonly project_id: string; readonly reason: string };
  readonly 'key.revoked': { readonly key_id: string; readonly name: string };
  readonly 'model.paused': { readonly model: string; readonly until: string | null; readonly reason: string };
  readonly 'model.resumed': { readonly model: string };
  readonly 'model.retired': { readonly model: string };
  readonly 'price.published': {
    readonly model: string;
    readonly price_id: string;
    readonly effective_from: string;
    readonly usd_per_million_tokens: EventPrice;
    /** The prices of other units, each for one. */
    readonly units: readonly { readonly unit: string; readonly usd: string }[];
  };
}

export type WebhookEventType = keyof WebhookEvents;

interface Described<T extends WebhookEventType> {
  /** When it is sent: one sentence of the docs. */
  readonly when: string;
  /** Whether it is sent to every account. */
  readonly isForAll?: true;
  /** The data of test events and of the docs. */
  readonly example: WebhookEvents[T];
}

/** Describes every event, in the order of the docs. */
export const webhookEvents: { readonly [T in WebhookEventType]: Described<T> } = {
  'balance.low': {
    when: 'The settled balance fell below the threshold of the [low-balance alert](alerts.md), which must be on.',
    example: { threshold_usd: '10', settled_usd: '9.73', available_usd: '9.41' },
  },
  'budget.reached': {
    when: 'The spend of a [budget](budgets.md) reached one of its alert percentages. `period_start` and `resets_at` are null for a lifetime budget.',
    example: {
      budget_id: 'bud_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      scope: 'project',
      scope_id: 'proj_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      period: 'month',
      period_start: '2027-01-01',
      resets_at: '2027-02-01T00:00:00+08:00',
      soft: false,
      percent: 80,
      limit_usd: '50',
      spent_usd: '40.02',
    },
  },
  'funds.added': {
    when: 'A payment, a deposit, a redeemed code or a correction was credited.',
    example: {
      entry_id: 'ent_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      amount_usd: '25',
      source: 'cash',
      reason: 'stripe cs_a1b2c3',
      available_usd: '34.41',
    },
  },
  'key.created': {
    when: 'An API key was created.',
    example: {
      key_id: 'key_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      project_id: 'proj_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      name: 'nightly import',
    },
  },
  'key.refused': {
    when: 'Calls with a key began to be [refused](refusals.md) for a reason that a user must resolve. Sent at most once per hour for each key and reason.',
    example: {
      key_id: 'key_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      project_id: 'proj_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      reason: 'budget_reached',
    },
  },
  'key.revoked': {
    when: 'An API key was revoked.',
    example: { key_id: 'key_019a6b1c2d3e7f008a9bcadbecfd0e1f', name: 'nightly import' },
  },
  'model.paused': {
    when: 'The operator paused a model. `until` is null when no end is known.',
    isForAll: true,
    example: { model: 'sandbox/story', until: '2027-01-31T14:00:00.000Z', reason: 'Maintenance of the upstream' },
  },
  'model.resumed': {
    when: 'The operator resumed a paused model. No event is sent when a pause ends at its announced time.',
    isForAll: true,
    example: { model: 'sandbox/story' },
  },
  'model.retired': { when: 'The operator retired a model.', isForAll: true, example: { model: 'sandbox/story' } },
  'price.published': {
    when: 'The operator published a price. It takes effect at `effective_from`, which may be in the future.',
    isForAll: true,
    example: {
      model: 'sandbox/story',
      price_id: 'price_019a6b1c2d3e7f008a9bcadbecfd0e1f',
      effective_from: '2027-02-01T00:00:00.000Z',
      usd_per_million_tokens: {
        input: '0.2',
        cache_read: '0.02',
        cache_write_5m: '0.25',
        cache_write_1h: '0.4',
        output: '0.4',
        reasoning: null,
      },
      units: [],
    },
  },
};

/** Every type, in the order of the docs. */
export const webhookEventTypes = Object.keys(webhookEvents) as readonly WebhookEventType[];

/** An event of one type. */
export interface WebhookEvent<T extends WebhookEventType = WebhookEventType> {
  /** "evt_" and 32 hexadecimal digits; the same in every attempt and for every endpoint. */
  readonly id: string;
  readonly type: T;
  readonly atMs: number;
  /** Undefined for an event that concerns every account. */
  readonly accountId: string | undefined;
  readonly data: WebhookEvents[T];
}

/** An event as a receiver reads it. */
export type WebhookBody = {
  [T in WebhookEventType]: {
    readonly id: string;
    readonly type: T;
    /** When it happened. */
    readonly timestamp: string;
    readonly account_id: string | null;
    /** Present in test events only. */
    readonly test?: true;
    readonly data: WebhookEvents[T];
  };
}[WebhookEventType];

/** Returns the body of a request. */
export function webhookBody<T extends WebhookEventType>({ id, type, atMs, accountId, data }: WebhookEvent<T>, isTest = false): string {
  return JSON.stringify({
    id,
    type,
    timestamp: new Date(atMs).toISOString(),
    account_id: accountId ?? null,
    ...(isTest ? { test: true } : {}),
    data,
  });
}
