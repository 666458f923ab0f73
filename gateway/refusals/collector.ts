// Counts refused calls in memory, and keeps some of them as examples, until they are sent to metering.
import type { RecordRefusalsRequest_Series as Series, Refusal } from '#proto/metering/v1/metering.js';
import { examplesUntil, quarterMs, quarterOf } from '#rules/errors/refusals.js';

/** Series before further models of a key are counted together, without a model. */
const seriesMax = 10_000;
/** Series in all: with this many keys refused since the last batch, calls of still others are lost. */
const seriesLimit = 50_000;
/** Examples that wait to be sent. */
const examplesMax = 2000;
/** Series whose numbers of examples are remembered. */
const rememberedMax = 20_000;

/** The most that one message may contain, so that it stays below a few hundred kilobytes. */
const seriesPerBatch = 1000;
const examplesPerBatch = 500;

/**
 * Holds refused calls. Counts are exact up to a number of keys that no gateway reaches within the second between two batches; examples are
 * dropped as soon as their series has enough, or the buffer is full.
 */
export class RefusalCollector {
  private readonly series = new Map<string, Series>();
  private examples = 0;
  /** Examples taken by series in this quarter of an hour. */
  private readonly taken = new Map<string, number>();
  private takenOfQuarterMs = 0;

  /** Returns whether nothing waits. */
  isEmpty(): boolean {
    return this.series.size === 0;
  }

  /** Returns how many calls wait. */
  count(): bigint {
    let calls = 0n;
    for (const series of this.series.values()) calls += series.calls;
    return calls;
  }

  /** Counts a refused call, and keeps the example that `describe` returns if there is room. Returns false if there was no room to count it. */
  add(
    call: Pick<Refusal, 'accountId' | 'projectId' | 'keyId' | 'modelId' | 'reason'>,
    refusedAtMs: number,
    describe: () => Refusal,
  ): boolean {
    const { accountId, projectId, keyId, reason } = call;
    const startMs = quarterOf(refusedAtMs);
    let { modelId } = call;
    let name = `${projectId} ${keyId} ${startMs} ${reason} ${modelId}`;
    let series = this.series.get(name);
    if (series === undefined && this.series.size >= seriesMax) {
      modelId = '';
      name = `${projectId} ${keyId} ${startMs} ${reason} `;
      series = this.series.get(name);
    }
    if (series === undefined) {
      if (this.series.size >= seriesLimit) return false;
      series = { accountId, projectId, keyId, modelId, reason, quarterMs: BigInt(startMs), calls: 0n, examples: [] };
      this.series.set(name, series);
    }
    series.calls += 1n;
    if (this.examples < examplesMax && this.isWanted(name, refusedAtMs)) {
      series.examples.push(describe());
      this.examples += 1;
    }
    return true;
  }

  /** Counts an example of the series, unless it has enough. */
  private isWanted(name: string, atMs: number): boolean {
    if (atMs - this.takenOfQuarterMs >= quarterMs || this.taken.size >= rememberedMax) {
      this.taken.clear();
      this.takenOfQuarterMs = quarterOf(atMs);
    }
    const taken = this.taken.get(name) ?? 0;
    if (taken >= examplesUntil(atMs)) return false;
    this.taken.set(name, taken + 1);
    return true;
  }

  /** Removes the series of one batch and returns them; empty when nothing waits. */
  take(): Series[] {
    const batch: Series[] = [];
    let examples = 0;
    for (const [name, series] of this.series) {
      if (batch.length === seriesPerBatch || (batch.length > 0 && examples + series.examples.length > examplesPerBatch)) break;
      this.series.delete(name);
      batch.push(series);
      examples += series.examples.length;
    }
    this.examples -= examples;
    return batch;
  }
}
