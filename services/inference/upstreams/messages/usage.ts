// Usage that messages upstreams report in pieces: input at the start, totals at the end. `input_tokens` excludes the caches.
import { isCount, readSearches, type UsageReport } from '../../tokens/usage-report.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

/**
 * Holds the fields seen so far, merged one by one: the last value that is not null wins, but a 0 erases no earlier count unless the input turns out to
 * be cached.
 */
export class MergedUsage {
  readonly #input = new Map<string, unknown>();
  #output: unknown;
  #thinking: unknown;
  #searchesBegun = 0;
  #searches: UsageReport['searches'];

  /** Merges the usage of `message_start`. Its output count is a placeholder and is ignored. */
  mergeStart(usage: unknown): void {
    if (isObject(usage)) this.#mergeInput(usage);
  }

  /** Merges the usage of a `message_delta`: running totals of the whole message. */
  mergeDelta(usage: unknown): void {
    if (!isObject(usage)) return;
    this.#mergeInput(usage);
    this.#searches = readSearches(usage) ?? this.#searches;
    const output = usage['output_tokens'] ?? undefined;
    // Some resellers fill the last report with zeros.
    if (output !== undefined && (output !== 0 || this.#output === undefined)) this.#output = output;
    const details = usage['output_tokens_details'];
    const thinking = isObject(details) ? (details['thinking_tokens'] ?? undefined) : undefined;
    if (thinking !== undefined && (thinking !== 0 || this.#thinking === undefined)) this.#thinking = thinking;
  }

  /** Notes that the vendor began a search. Its own count, which comes with the end, replaces this one: it leaves out those that failed. */
  noteSearch(): void {
    this.#searchesBegun += 1;
  }

  /** Returns the fields in canonical classes. */
  get report(): UsageReport {
    return { input: this.#readInput(), output: this.#readOutput(), searches: this.#searches ?? (this.#searchesBegun || undefined) };
  }

  #mergeInput(usage: JsonObject): void {
    const parts = isObject(usage['cache_creation']) ? usage['cache_creation'] : {};
    const fields = {
      input: usage['input_tokens'],
      cacheRead: usage['cache_read_input_tokens'],
      cacheWrite: usage['cache_creation_input_tokens'],
      cacheWrite5m: parts['ephemeral_5m_input_tokens'],
      cacheWrite1h: parts['ephemeral_1h_input_tokens'],
    };
    // Some servers begin with an estimate without caches. If all of the input turns out to be cached, the 0 replaces that estimate.
    const isCached = (read: unknown, write: unknown): boolean => Number(read ?? 0) + Number(write ?? 0) > 0;
    const isMoved = isCached(fields.cacheRead, fields.cacheWrite) && !isCached(this.#input.get('cacheRead'), this.#input.get('cacheWrite'));
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined || value === null) continue;
      if (value === 0 && this.#input.has(name) && !isMoved) continue;
      this.#input.set(name, value);
    }
  }

  #readInput(): UsageReport['input'] {
    if (!this.#input.has('input')) return undefined;
    const read = (name: string): unknown => this.#input.get(name) ?? 0;
    const [input, cacheRead, part5m, part1h] = [read('input'), read('cacheRead'), read('cacheWrite5m'), read('cacheWrite1h')];
    if (!isCount(input) || !isCount(cacheRead) || !isCount(part5m) || !isCount(part1h)) return 'not_a_count';
    const total = this.#input.get('cacheWrite') ?? part5m + part1h;
    if (!isCount(total)) return 'not_a_count';
    // Tokens not reported as cached for an hour count as cached for five minutes, which costs less.
    if (part1h > total) return 'cache_write_parts_above_total';
    return { inputTokens: input, cacheReadTokens: cacheRead, cacheWrite5mTokens: total - part1h, cacheWrite1hTokens: part1h };
  }

  #readOutput(): UsageReport['output'] {
    if (this.#output === undefined) return undefined;
    const thinking = this.#thinking ?? 0;
    if (!isCount(this.#output) || !isCount(thinking)) return 'not_a_count';
    return { outputTokens: this.#output, reasoningTokens: thinking };
  }
}
