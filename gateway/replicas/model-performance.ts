// What metering measured of each model, kept for a minute, for the public pages and GET /v1/catalog.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import type { ModelPerformance } from '#proto/metering/v1/metering.js';
import type { GatewayPeers } from '../peers.js';

const keptMs = 60_000;
/** A page does not wait longer. */
const timeoutMs = 1000;

/** The figures of models by id. */
export type Performances = ReadonlyMap<string, ModelPerformance>;

/** Reads them when they are needed. */
export class ModelPerformanceReplica {
  private present: Performances = new Map();
  private readAtMs = -Infinity;
  private reading: Promise<Performances> | undefined;

  constructor(
    private readonly deps: {
      readonly metering: Pick<GatewayPeers['metering'], 'listModelPerformance'>;
      readonly isEnabled: boolean;
      readonly clock: Clock;
      readonly log: Logger;
    },
  ) {}

  /** Returns the figures; the last ones while metering is unavailable, and none where the operator does not publish them. */
  async read(): Promise<Performances> {
    const { isEnabled, clock } = this.deps;
    if (!isEnabled || clock.monotonicMs() - this.readAtMs < keptMs) return this.present;
    this.reading ??= this.refresh().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async refresh(): Promise<Performances> {
    const { metering, clock, log } = this.deps;
    this.readAtMs = clock.monotonicMs();
    try {
      const { models } = await metering.listModelPerformance({}, callContext({ caller: 'gateway', timeoutMs }));
      this.present = new Map(models.map((model) => [model.modelId, model]));
    } catch (error) {
      log.debug({ err: error }, 'the performance of the models could not be read');
    }
    return this.present;
  }
}
