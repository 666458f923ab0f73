// Delivers notifications. The process that stores one attempts it right after the commit; a background job makes the further attempts, and
// those that a process could not finish: it retries them, with the same id, after their claim expires.
import { setTimeout as pause } from 'node:timers/promises';
import type { Knex } from 'knex';
import { hourMs } from '#kit/clock.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { NotificationChannel, NotificationState } from '#proto/auth/v1/notifications.js';
import { type Busy, keptDays, type OutgoingNotification, type StoredNotification } from './model.js';
import { claimMs, type DeliveryDeps, sealContent, tryDelivery } from './try-delivery.js';

/** Notifications that this process delivers at the same time. */
const atATimeMax = 50;
/** Of those, mails: a mail server that takes minutes to accept each does not hold up webhooks. */
const mailsMax = 30;
/** Of those, to webhook endpoints: users choose them, and slow ones do not hold up emails. */
const toEndpointsMax = 40;
/** Of those, to the endpoints of one account, and to one endpoint: slow ones do not hold up the others. */
const perAccountMax = 12;
const perEndpointMax = 4;
const removedAtATime = 500;
const patienceMs = 5000;

/** Stores notifications, and delivers those that are due until it is stopped. */
export class Notifier {
  private readonly underWay = new Map<string, Promise<void>>();
  private mails = 0;
  /** How many of these go to each endpoint, and to those of each account. */
  private readonly perEndpoint = new Map<string, number>();
  private readonly perAccount = new Map<string, number>();
  private stopRepeating: () => Promise<void> = async () => {};
  private stopRemoving: () => Promise<void> = async () => {};
  /** Until it is known. A restore pauses deliveries while no process runs, so they are never paused later. */
  private mayBePaused = true;

  constructor(private readonly deps: DeliveryDeps) {}

  async start(): Promise<void> {
    const { config, log } = this.deps;
    if (await this.isPaused())
      log.warn('emails and webhook requests wait until `tollgate notifications resume`, because this is a restored copy');
    this.stopRepeating = repeat(
      config.notificationIntervalMs,
      () => this.begin(),
      (error) => log.error({ err: error }, 'notifications could not be read; this will be retried'),
    );
    this.stopRemoving = repeat(
      hourMs,
      () => this.removeOld(),
      (error) => log.error({ err: error }, 'old notifications could not be removed; this will be retried'),
    );
  }

  /** Waits briefly for attempts in progress; another process retries any that take longer. */
  async stop(): Promise<void> {
    await this.stopRepeating();
    await this.stopRemoving();
    await Promise.race([this.idle(), pause(patienceMs, undefined, { ref: false })]);
  }

  /** Waits for the attempts in progress. */
  async idle(): Promise<void> {
    await Promise.all(this.underWay.values());
  }

  /** Stores a notification. Its first attempt starts after the transaction has committed, or when there is room for it. */
  async add(tx: Knex.Transaction, outgoing: OutgoingNotification): Promise<void> {
    const { notifications, box, clock } = this.deps;
    const { content, refusal, ...fields } = outgoing;
    const channel =
      content === undefined ? NotificationChannel.NOTIFICATION_CHANNEL_WEBHOOK : NotificationChannel.NOTIFICATION_CHANNEL_MAIL;
    const isBegun = refusal === undefined && !this.mayBePaused && this.underWay.size < atATimeMax && !this.isBusy({ channel, ...fields });
    const notification: StoredNotification = {
      endpointId: undefined,
      ...fields,
      channel,
      state: refusal === undefined ? NotificationState.NOTIFICATION_STATE_PENDING : NotificationState.NOTIFICATION_STATE_FAILED,
      attempts: isBegun ? 1 : 0,
      outcome: refusal ?? '',
      sealedContent: refusal === undefined && content !== undefined ? sealContent(fields.id, content, box) : undefined,
      dueAtMs: clock.nowMs() + (isBegun ? claimMs(channel) : 0),
    };
    await notifications.add(tx, notification);
    if (isBegun) this.attemptAfter(tx, notification);
  }

  /**
   * Attempts a request once more, to `destination`, unless it has changed since it was read. Begins after the transaction, or with the next due ones if
   * deliveries may be paused. It is claimed within the transaction: `after` would not wait for an attempt of another process.
   */
  async restart(tx: Knex.Transaction, before: StoredNotification, destination: string): Promise<void> {
    const { notifications, clock } = this.deps;
    const isBegun = !this.mayBePaused;
    const restarted = await notifications.restart(tx, before, {
      destination,
      attempts: before.attempts + (isBegun ? 1 : 0),
      dueAtMs: clock.nowMs() + (isBegun ? claimMs(before.channel) : 0),
    });
    if (restarted !== undefined && isBegun) this.attemptAfter(tx, restarted);
  }

  /** Returns the notifications after the attempts that this process has begun, or after `waitMs` at the latest, in the order of the ids. */
  async after(ids: readonly string[], waitMs: number): Promise<StoredNotification[]> {
    const timer = new AbortController();
    const tooLate = pause(waitMs, undefined, { signal: timer.signal, ref: false }).catch(() => undefined);
    await Promise.race([Promise.all(ids.map((id) => this.underWay.get(id))), tooLate]);
    timer.abort();
    const found = new Map((await this.deps.notifications.find(ids)).map((each) => [each.id, each]));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /** Starts attempts for due notifications, as many as there is room for. */
  async begin(): Promise<void> {
    const { notifications, clock } = this.deps;
    for (;;) {
      const room = atATimeMax - this.underWay.size;
      if (room <= 0 || (await this.isPaused())) return;
      const found = await notifications.due(clock.nowMs(), room, this.busy);
      for (const due of found) if (!this.isBusy(due)) await this.claim(due);
      // Otherwise some were left out because they became busy, and others may be due behind them.
      if (found.length < room) return;
    }
  }

  private async claim(due: StoredNotification): Promise<void> {
    const { notifications, clock } = this.deps;
    const nowMs = clock.nowMs();
    const claimed = await notifications.claim(due, nowMs, nowMs + claimMs(due.channel));
    if (claimed !== undefined) this.follow(claimed, this.attempt(claimed));
  }

  /** Removes notifications that were completed longer ago than they are kept. */
  async removeOld(): Promise<void> {
    const { notifications, clock } = this.deps;
    while ((await notifications.removeCompleted(clock.nowMs() - keptDays * 24 * hourMs, removedAtATime)) === removedAtATime);
  }

  private async isPaused(): Promise<boolean> {
    if (this.mayBePaused) this.mayBePaused = (await this.deps.notifications.pausedAtMs()) > 0;
    return this.mayBePaused;
  }

  private get busy(): Busy {
    return { mails: this.mails >= mailsMax, endpoints: this.busyEndpoints };
  }

  private get busyEndpoints(): Busy['endpoints'] {
    const free = [...this.perEndpoint.values()].reduce((room, count) => room - count, toEndpointsMax);
    if (free <= 0) return 'all';
    // Less when few places are free, so that a few accounts cannot take all of them.
    const accountMax = Math.min(perAccountMax, Math.max(1, Math.floor(free / 2)));
    return { ids: withAtLeast(perEndpointMax, this.perEndpoint), accountIds: withAtLeast(accountMax, this.perAccount) };
  }

  private isBusy({
    channel,
    endpointId,
    accountId,
  }: Pick<StoredNotification, 'channel'> & Pick<OutgoingNotification, 'endpointId' | 'accountId'>): boolean {
    const { mails, endpoints } = this.busy;
    if (channel === NotificationChannel.NOTIFICATION_CHANNEL_MAIL) return mails;
    if (endpointId === undefined || accountId === undefined) return false;
    return endpoints === 'all' || endpoints.ids.includes(endpointId) || endpoints.accountIds.includes(accountId);
  }

  private attemptAfter(tx: Knex.Transaction, notification: StoredNotification): void {
    this.follow(
      notification,
      tx.executionPromise.then(
        () => this.attempt(notification),
        () => undefined,
      ),
    );
  }

  private follow({ id, channel, endpointId, accountId }: StoredNotification, work: Promise<void>): void {
    const count = (change: 1 | -1): void => {
      if (channel === NotificationChannel.NOTIFICATION_CHANNEL_MAIL) this.mails += change;
      if (endpointId === undefined || accountId === undefined) return;
      addTo(this.perEndpoint, endpointId, change);
      addTo(this.perAccount, accountId, change);
    };
    count(1);
    const followed = work.finally(() => {
      count(-1);
      if (this.underWay.get(id) === followed) this.underWay.delete(id);
    });
    this.underWay.set(id, followed);
  }

  private async attempt(notification: StoredNotification): Promise<void> {
    const { notifications, log } = this.deps;
    try {
      const attempted = await tryDelivery(notification, this.deps);
      await notifications.note(notification, attempted);
      await this.deps.noteAttempt(notification, attempted);
    } catch (error) {
      log.error({ err: error, notification_id: notification.id }, 'a notification could not be attempted; this will be retried');
    }
  }
}

function addTo(counts: Map<string, number>, id: string, change: 1 | -1): void {
  const count = (counts.get(id) ?? 0) + change;
  if (count === 0) counts.delete(id);
  else counts.set(id, count);
}

function withAtLeast(max: number, counts: ReadonlyMap<string, number>): string[] {
  return [...counts].filter(([, count]) => count >= max).map(([id]) => id);
}
