// Collects the response of a call that is to be stored.
import type { Event } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { Call, StoredResponse } from '#proto/metering/v1/metering.js';
import type { Collector, Format, ParsedCall } from '../../formats/format.js';
import type { JsonObject } from '../../formats/rest.js';
import type { Owner, StoredResponses } from './stored-responses.js';

/** Collects one response. */
export class ResponseSink {
  #call: Call | undefined;
  #collector: Collector | undefined;

  constructor(
    private readonly store: StoredResponses,
    private readonly owner: Owner,
    private readonly format: Format,
    private readonly parsed: ParsedCall,
  ) {}

  /** Notes the admitted call. */
  begin(call: Call): void {
    this.#call = call;
    this.restart();
  }

  /** Adds the model's next events. */
  take({ events }: { readonly events: readonly Event[] }): void {
    this.#collector!.push(events);
  }

  /** Drops everything taken: the answer broke off, and another target begins it again. */
  restart(): void {
    const { id: requestId, modelId: model, startedAtMs } = this.#call!;
    const { includeUsage, echo } = this.parsed;
    this.#collector = this.format.collector({ requestId, model, createdAtMs: Number(startedAtMs), includeUsage, echo });
  }

  /** Returns the finished response as it is stored; undefined if it is too large. */
  async response(tokens: TokenCounts): Promise<StoredResponse | undefined> {
    const response = this.#collector!.finish(tokens) as JsonObject;
    const { input, previousIds } = this.parsed.storable!;
    return this.store.seal(this.owner, { response, input, previousIds });
  }
}
