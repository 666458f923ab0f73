// The background job that sends the messages of alerts. Several processes share the queue: the process that claims a message sends it. If it
// dies during the attempt, another process retries the message, with the same id, after the claim expires.
import { setTimeout as pause } from 'node:timers/promises';
import { repeat } from '#kit/repeat.js';
import type { AlertDeps } from './deps.js';
import { hourMs, keptDays, type Delivery } from './model.js';
import { claimMs, tryDelivery } from './try-delivery.js';

/** Messages that this process sends at the same time. */
const atATimeMax = 20;
const removedAtATime = 500;
const patienceMs = 5000;

/** Sends due messages periodically until it is stopped. */
export class DeliveryWorker {
  private readonly underWay = new Set<Promise<void>>();
  private stopRepeating: () => Promise<void> = async () => {};
  private stopRemoving: () => Promise<void> = async () => {};

  constructor(private readonly deps: AlertDeps) {}

  start(): void {
    const { config, log } = this.deps;
    this.stopRepeating = repeat(
      config.alertIntervalMs,
      () => this.begin(),
      (error) => log.error({ err: error }, 'messages of alerts could not be read; this will be retried'),
    );
    this.stopRemoving = repeat(
      hourMs,
      () => this.removeOld(),
      (error) => log.error({ err: error }, 'old messages of alerts could not be removed; this will be retried'),
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
    await Promise.all(this.underWay);
  }

  /** Starts attempts for due messages, as many as there is room for. */
  async begin(): Promise<void> {
    const { deliveries, clock } = this.deps;
    const room = atATimeMax - this.underWay.size;
    if (room <= 0) return;
    for (const due of await deliveries.due(clock.nowMs(), room)) {
      const claimed = await deliveries.claim(due, clock.nowMs() + claimMs);
      if (claimed === undefined) continue;
      const trying = this.attempt(claimed).finally(() => this.underWay.delete(trying));
      this.underWay.add(trying);
    }
  }

  /** Removes messages that finished longer ago than they are kept. */
  async removeOld(): Promise<void> {
    const { deliveries, clock } = this.deps;
    while ((await deliveries.removeEnded(clock.nowMs() - keptDays * 24 * hourMs, removedAtATime)) === removedAtATime);
  }

  private async attempt(delivery: Delivery): Promise<void> {
    const { deliveries, log } = this.deps;
    try {
      await deliveries.note(delivery, await tryDelivery(delivery, this.deps));
    } catch (error) {
      log.error({ err: error, delivery_id: delivery.id }, 'a message of an alert could not be attempted; this will be retried');
    }
  }
}
