// Checks a streamed chat-completions answer, frame by frame: framing, schema, and the rules between frames that clients rely on.
import { isObject, type JsonObject } from '../rest.js';
import { schemaFaults } from './answer-schemas.js';
import { parsed, rawFramesOf } from './sse-text.js';

/** Describes the expected answer. */
export interface AnswerKind {
  /** Whether the upstream uses the caller's format, so that it may send fields that no schema knows yet. */
  readonly native?: boolean;
  /** chat-completions: whether the caller requested the usage chunk. */
  readonly includeUsage?: boolean;
}

const terminator = '[DONE]';

/** Returns what is wrong with the text of a stream that has ended, one line each. An answer that broke off must end with an error frame. */
export function chatCompletionStreamFaults(text: string, kind: AnswerKind = {}): string[] {
  const { frames, faults } = rawFramesOf(text);
  const check = new StreamCheck(kind, faults);
  for (const { event, data } of frames) {
    if (event !== undefined) faults.push(`a frame has an event line: ${event}`);
    check.take(data);
  }
  check.end();
  return faults;
}

class StreamCheck {
  #first: JsonObject | undefined;
  #ended: 'done' | 'error' | undefined;
  #usageSeen = false;
  readonly #choices = new Map<unknown, { finish: unknown; calls: { type: unknown }[] }>();

  constructor(
    private readonly kind: AnswerKind,
    private readonly faults: string[],
  ) {}

  take(data: string): void {
    if (this.#ended !== undefined) this.faults.push(`something follows the ${this.#ended}: ${data.slice(0, 100)}`);
    if (data === terminator) {
      this.#ended = 'done';
      return;
    }
    const chunk = parsed(data, this.faults);
    if (chunk === undefined) return;
    if ('error' in chunk) {
      this.#ended = 'error';
      this.faults.push(...schemaFaults('chat-completion-error', chunk));
      return;
    }
    this.faults.push(...schemaFaults('chat-completion-chunk', chunk, this.kind.native).map((fault) => `${fault} in ${data.slice(0, 300)}`));
    this.#head(chunk);
    this.#usage(chunk);
    for (const choice of arrayOf(chunk['choices'])) if (isObject(choice)) this.#choice(choice);
  }

  end(): void {
    if (this.#ended === undefined) this.faults.push(`the stream ends without ${terminator} or an error`);
    if (this.#ended !== 'done') return;
    if (this.#first === undefined) this.faults.push('there is no chunk');
    for (const [index, { finish }] of this.#choices)
      if (finish === undefined) this.faults.push(`choice ${String(index)} has no finish reason`);
    if (this.kind.includeUsage === true && !this.#usageSeen) this.faults.push('the usage chunk is missing');
  }

  #head(chunk: JsonObject): void {
    this.#first ??= chunk;
    for (const name of ['id', 'object', 'created', 'model']) {
      if (chunk[name] !== this.#first[name]) this.faults.push(`${name} changes from chunk to chunk`);
    }
  }

  #usage(chunk: JsonObject): void {
    if (this.#usageSeen) this.faults.push('a chunk follows the usage chunk');
    const { usage } = chunk;
    const isEmpty = arrayOf(chunk['choices']).length === 0;
    if (this.kind.includeUsage !== true && 'usage' in chunk) this.faults.push('there is usage, which was not requested');
    if (this.kind.includeUsage === true && usage === undefined) this.faults.push('a chunk has no usage key, although usage was requested');
    if (isEmpty !== isObject(usage)) this.faults.push('usage and only usage comes in a chunk without choices');
    if (isObject(usage)) this.#usageSeen = true;
  }

  #choice({ index, delta, finish_reason: finish }: JsonObject): void {
    const known = this.#choices.get(index);
    const choice = known ?? { finish: undefined, calls: [] };
    this.#choices.set(index, choice);
    const fields = isObject(delta) ? delta : {};
    if (known === undefined && fields['role'] !== 'assistant') this.faults.push(`choice ${String(index)} does not begin with its role`);
    if (known !== undefined && index === 0 && 'role' in fields) this.faults.push('the role is repeated');
    if (choice.finish !== undefined) this.faults.push(`choice ${String(index)} goes on after its finish`);
    for (const call of arrayOf(fields['tool_calls'])) if (isObject(call)) this.#fragment(call, choice.calls);
    if (finish === null || finish === undefined) return;
    choice.finish = finish;
    if (finish === 'stop' && choice.calls.length > 0) this.faults.push('the answer calls tools but says it stopped');
    if (finish === 'tool_calls' && choice.calls.length === 0) this.faults.push('the answer says it calls tools but calls none');
  }

  #fragment(call: JsonObject, calls: { type: unknown }[]): void {
    const index = Number(call['index']);
    const { type } = call;
    if (index === calls.length) {
      const name = [call['function'], call['custom']].find(isObject)?.['name'];
      if (typeof call['id'] !== 'string' || typeof type !== 'string' || typeof name !== 'string')
        this.faults.push(`tool call ${index} begins without its id, type and name`);
      calls.push({ type });
      return;
    }
    const begun = calls[index];
    if (begun === undefined) this.faults.push(`tool call ${index} comes before its predecessors`);
    const named = [call['function'], call['custom']].some((part) => isObject(part) && 'name' in part);
    if ('id' in call || 'type' in call || named) this.faults.push(`tool call ${index} repeats its id, type or name`);
    if (begun !== undefined && !isObject(call[String(begun.type)])) this.faults.push(`a fragment of tool call ${index} is not of its type`);
  }
}

function arrayOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
