// Checks a streamed messages answer, event by event: framing, schema, and the rules between events that clients rely on.
import { isObject, type JsonObject, objectIn } from '../rest.js';
import { schemaFaults } from './answer-schemas.js';
import type { AnswerKind } from './check-chat-completions.js';
import { eventFaults } from './sse-text.js';

/** Returns what is wrong with the text of a stream that has ended, one line each. An answer that broke off must end with an error event. */
export function messageStreamFaults(text: string, kind: AnswerKind = {}): string[] {
  return eventFaults(text, (faults) => new StreamCheck(kind, faults));
}

/** Fields of usage that the last totals must have, because clients replace the first ones with them. */
const totals = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
const ownBlocks = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);
const deltasOf: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  redacted_thinking: [],
  tool_use: ['input_json_delta'],
};

class StreamCheck {
  #state: 'new' | 'open' | 'finished' | 'stopped' | 'error' = 'new';
  #block: { index: unknown; type: string; text: string; signatures: number } | undefined;
  #blocks = 0;
  #calls = 0;
  #stopReason: unknown;

  constructor(
    private readonly kind: AnswerKind,
    private readonly faults: string[],
  ) {}

  take(event: JsonObject): void {
    const type = String(event['type']);
    this.faults.push(
      ...schemaFaults('message-stream-event', event, this.kind.native).map((fault) => `${fault} in ${JSON.stringify(event).slice(0, 300)}`),
    );
    if (this.#state === 'stopped' || this.#state === 'error') this.faults.push(`${type} follows the end`);
    if (this.#state === 'new' && type !== 'message_start' && type !== 'error') this.faults.push(`${type} comes before message_start`);
    switch (type) {
      case 'message_start':
        if (this.#state !== 'new') this.faults.push('message_start comes twice');
        this.#state = 'open';
        return;
      case 'content_block_start':
        return this.#start(event['index'], objectIn(event, 'content_block'));
      case 'content_block_delta':
        return this.#delta(event['index'], objectIn(event, 'delta'));
      case 'content_block_stop':
        return this.#stop(event['index']);
      case 'message_delta':
        return this.#finish(event);
      case 'message_stop':
        if (this.#state !== 'finished') this.faults.push('message_stop comes without message_delta');
        this.#state = 'stopped';
        return;
      case 'error':
        this.#state = 'error';
        return;
    }
  }

  end(): void {
    if (this.#state !== 'stopped' && this.#state !== 'error') this.faults.push('the stream ends without message_stop or an error');
    if (this.#state !== 'stopped') return;
    if (this.#stopReason === 'end_turn' && this.#calls > 0) this.faults.push('the answer calls tools but says it is done');
    if (this.#stopReason === 'tool_use' && this.#calls === 0) this.faults.push('the answer says it calls tools but calls none');
  }

  #start(index: unknown, block: JsonObject): void {
    const type = String(block['type']);
    if (this.#block !== undefined) this.faults.push(`block ${String(index)} opens while another is open`);
    if (index !== this.#blocks) this.faults.push(`block ${String(index)} is the ${this.#blocks + 1}th`);
    if (this.kind.native !== true && !ownBlocks.has(type))
      this.faults.push(`a block of type ${type} comes from an upstream of another format`);
    if (this.#state !== 'open') this.faults.push('a block opens where none may');
    this.#blocks += 1;
    if (type === 'tool_use') this.#calls += 1;
    this.#block = { index, type, text: '', signatures: 0 };
  }

  #delta(index: unknown, delta: JsonObject): void {
    const block = this.#block;
    if (block === undefined || block.index !== index)
      return void this.faults.push(`a delta is for block ${String(index)}, which is not open`);
    const type = String(delta['type']);
    const allowed = deltasOf[block.type];
    if (allowed !== undefined && this.kind.native !== true && !allowed.includes(type))
      this.faults.push(`a ${type} is for a block of type ${block.type}`);
    if (block.signatures > 0) this.faults.push(`a ${type} follows the signature`);
    if (type === 'signature_delta') block.signatures += 1;
    if (typeof delta['text'] === 'string') block.text += delta['text'];
  }

  #stop(index: unknown): void {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined || block.index !== index) return void this.faults.push(`block ${String(index)} stops but is not open`);
    if (block.type === 'text' && block.text === '') this.faults.push(`the text of block ${String(index)} is empty`);
  }

  #finish(event: JsonObject): void {
    if (this.#state !== 'open') this.faults.push('message_delta is in the wrong place');
    if (this.#block !== undefined) this.faults.push('message_delta comes while a block is open');
    this.#state = 'finished';
    this.#stopReason = objectIn(event, 'delta')['stop_reason'];
    if (typeof this.#stopReason !== 'string') this.faults.push('there is no stop reason');
    const usage = objectIn(event, 'usage');
    for (const name of totals) if (typeof usage[name] !== 'number') this.faults.push(`the last usage lacks ${name}`);
    if (!isObject(usage['output_tokens_details'])) this.faults.push('the last usage lacks output_tokens_details');
  }
}
