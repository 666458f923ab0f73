// The text that a model wrote in an answer, from which its tokens are counted when the upstream reports no usage. Pure.
import type { CountedOutput, Event } from '#proto/inference/v1/inference.js';

/** Characters that are counted exactly in one call; the rest is estimated at four bytes per token. */
export const exactCharsMax = 1_000_000;

/** This many fragments are joined into one: each takes several times the memory of its text, and may keep in memory the network read that it is a part of. */
const fragmentsMax = 128;

type Part = 'text' | 'reasoning' | 'otherChoices';

/** Collects the text of one answer. */
export class AnswerText {
  readonly #fragments: Record<Part, string[]> = { text: [], reasoning: [], otherChoices: [] };
  /** How many fragments of each part are the result of joining. */
  readonly #joined: Record<Part, number> = { text: 0, reasoning: 0, otherChoices: 0 };
  #chars = 0;
  #bytesBeyond = 0;
  #contentEvents = 0;
  #reasoningBlock: number | undefined;

  /** `onText` receives every text that is added. */
  constructor(private readonly onText?: (text: string, isReasoning: boolean) => void) {}

  /** Returns the number of events with text. No upstream splits a token, so at least one was generated for each. */
  get contentEvents(): number {
    return this.#contentEvents;
  }

  /** Adds the texts of events. */
  add(events: readonly Event[]): void {
    for (const { event } of events) {
      if (event?.$case === 'blockStart') {
        const { index, block } = event.value;
        this.#reasoningBlock = block?.$case === 'reasoning' ? index : undefined;
        if (block?.$case === 'toolCall') this.#add('text', block.value.name);
      } else if (event?.$case === 'foreign') {
        this.#add('otherChoices', event.value.countedText);
      } else if (event?.$case === 'blockDelta' && event.value.delta !== undefined && event.value.delta.$case !== 'signature') {
        const { $case, value } = event.value.delta;
        const part = event.value.index === this.#reasoningBlock ? 'reasoning' : 'text';
        this.#add(part, $case === 'foreignJson' ? foreignText(value) : value);
      }
    }
  }

  /** Returns the text to count; the count is limited to `tokensMax` tokens. */
  counted(tokensMax: number): CountedOutput {
    const { text, reasoning, otherChoices } = this.#fragments;
    return {
      text: text.join(''),
      reasoning: reasoning.join(''),
      otherChoices: otherChoices.join(''),
      bytesBeyond: this.#bytesBeyond,
      contentEvents: this.#contentEvents,
      tokensMax,
    };
  }

  #add(part: Part, text: string): void {
    if (text === '') return;
    this.#contentEvents += 1;
    this.onText?.(text, part === 'reasoning');
    if (this.#chars + text.length > exactCharsMax) {
      this.#bytesBeyond += Buffer.byteLength(text);
      return;
    }
    this.#chars += text.length;
    const fragments = this.#fragments[part];
    fragments.push(text);
    if (fragments.length >= fragmentsMax + this.#joined[part]) this.#joined[part] = joinLast(fragments, this.#joined[part]);
  }
}

/** Joins the fragments after the first `joined`, and returns how many joined ones there are. */
function joinLast(fragments: string[], joined: number): number {
  fragments.push(fragments.splice(joined).join(''));
  return joined + 1;
}

/**
 * Returns the texts of a delta without a common form. Nested texts, such as a citation, are not the model's own words. An event of the responses
 * format has new words only in `delta`: its other fields say what they belong to, or repeat them.
 */
function foreignText(json: string): string {
  const { type, signature: _signature, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const values = String(type).startsWith('response.') ? [fields['delta']] : Object.values(fields);
  return values.filter((value) => typeof value === 'string').join('');
}
