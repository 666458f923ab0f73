// What a chat-completions upstream sends alongside the meaning of its chunks, for callers of the same format (README of gateway/formats).
import type { BlockWriter } from '../answers/block-writer.js';
import { accountName } from '../answers/rest.js';
import { isObject, type JsonObject } from '../answers/stream-decoder.js';

type Fields = Record<string, unknown>;

// Fields that events carry, that we set ourselves, or that describe the request's route through the vendor.
const chunkMeaning = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'error',
  'obfuscation',
  'x_groq',
  'request_id',
  'organization',
  '__proto__',
]);
const choiceMeaning = new Set(['index', 'delta', 'message', 'finish_reason', 'usage', '__proto__']);
const deltaMeaning = new Set(['role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls', 'function_call', '__proto__']);
const usageMeaning = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
  '__proto__',
]);
const promptMeaning = new Set(['cached_tokens', 'cache_write_tokens', '__proto__']);
const completionMeaning = new Set(['reasoning_tokens', '__proto__']);

/** Collects the rest of one answer. It leaves out what the events carry, and null, which means the same as absent. */
export class Rest {
  // The last value of each field that was passed on: texts and numbers unchanged, anything else as JSON.
  readonly #passedOn = new Map<string, unknown>();
  readonly #end: { top: Fields; choice: Fields | undefined } = { top: {}, choice: undefined };
  #choice: Fields | undefined;
  #toolCalls: Fields[] | undefined;
  #others: JsonObject[] | undefined;

  /** Adds choice 0 of the current chunk. */
  addChoice(choice: JsonObject, delta: JsonObject): void {
    const ofChoice = leftOf(choice, choiceMeaning);
    const ofDelta = leftOf(delta, deltaMeaning);
    if (ofChoice !== undefined || ofDelta !== undefined)
      this.#choice = { ...this.#choice, ...ofChoice, ...(ofDelta === undefined ? {} : { delta: ofDelta }) };
  }

  /** Adds what is left of a tool call's fragment, with the caller's number of the call. */
  addToolCall(entry: Fields): void {
    (this.#toolCalls ??= []).push(entry);
  }

  /** Adds a choice other than 0. No events describe such a choice, so it is passed on unchanged. */
  addOther(choice: JsonObject): void {
    (this.#others ??= []).push(choice);
  }

  /** Adds a finish reason that has no common form. */
  addFinishReason(label: string): void {
    this.#end.choice = { ...this.#end.choice, finish_reason: label };
  }

  /** Passes on the rest of a chunk whose events, if any, wait in the writer. */
  flush(chunk: JsonObject, writer: BlockWriter, { isFirst, hasEnded }: { readonly isFirst: boolean; readonly hasEnded: boolean }): void {
    let top = this.#changedFields(chunk);
    let choice = this.#takeChoice();
    const others = this.#others;
    if (top === undefined && choice === undefined && others === undefined) return;
    this.#others = undefined;
    if (hasEnded && choice !== undefined) {
      this.#end.choice = { ...this.#end.choice, ...choice };
      choice = undefined;
    }
    // If there are several events, the first chunk's top level belongs to the first one.
    if (isFirst && top !== undefined && (choice === undefined || writer.pending > 1)) {
      writer.attach(JSON.stringify(top), 'oldest');
      top = undefined;
    } else if (hasEnded) {
      Object.assign(this.#end.top, top);
      top = undefined;
    }
    if ((top !== undefined || choice !== undefined) && writer.pending > 0) {
      writer.attach(JSON.stringify(restOf(top, choice === undefined ? [] : [choice])));
      top = choice = undefined;
    }
    const foreign = [...(choice === undefined ? [] : [choice]), ...(others ?? [])];
    if (top === undefined && foreign.length === 0) return;
    writer.foreign({
      json: JSON.stringify(restOf(top, foreign)),
      countedText: (others ?? []).map(modelText).join(''),
      isEnd: (others ?? []).some((other) => typeof other['finish_reason'] === 'string'),
    });
  }

  /** Returns the rest alongside the end and the usage, as the extra_json of `finished`; undefined if there is none. */
  end(usage: unknown): string | undefined {
    const { top, choice } = this.#end;
    const late = this.#takeChoice();
    const ofUsage = isObject(usage) ? usageLeft(usage) : undefined;
    const choices = choice === undefined && late === undefined ? [] : [{ index: 0, ...choice, ...late }];
    if (choices.length === 0 && ofUsage === undefined && Object.keys(top).length === 0) return undefined;
    return JSON.stringify({ ...restOf(top, choices), ...(ofUsage === undefined ? {} : { usage: ofUsage }) });
  }

  #takeChoice(): Fields | undefined {
    if (this.#choice === undefined && this.#toolCalls === undefined) return undefined;
    const choice: Fields = { index: 0, ...this.#choice };
    if (this.#toolCalls !== undefined) choice['delta'] = { ...(choice['delta'] as Fields | undefined), tool_calls: this.#toolCalls };
    this.#choice = this.#toolCalls = undefined;
    return choice;
  }

  /** Returns the fields of the chunk itself that are new or differ from earlier chunks. */
  #changedFields(chunk: JsonObject): Fields | undefined {
    let changed: Fields | undefined;
    for (const name in chunk) {
      const value = chunk[name];
      if (chunkMeaning.has(name) || value === null) continue;
      const passedOn = typeof value === 'object' ? JSON.stringify(value) : value;
      if (this.#passedOn.get(name) === passedOn || accountName.test(name)) continue;
      this.#passedOn.set(name, passedOn);
      (changed ??= {})[name] = value;
    }
    return changed;
  }
}

/** Returns what is left of a tool call's fragment; undefined if nothing is. */
export function toolCallLeft(entry: JsonObject, fn: JsonObject): Fields | undefined {
  const ofEntry = leftOf(entry, toolCallMeaning);
  const ofFunction = leftOf(fn, functionMeaning);
  return ofEntry === undefined && ofFunction === undefined
    ? undefined
    : { ...ofEntry, ...(ofFunction === undefined ? {} : { function: ofFunction }) };
}

const toolCallMeaning = new Set(['index', 'id', 'type', 'function', 'custom', '__proto__']);
const functionMeaning = new Set(['name', 'arguments', 'input', '__proto__']);

function restOf(top: Fields | undefined, choices: readonly JsonObject[]): Fields {
  return choices.length === 0 ? { ...top } : { ...top, choices };
}

/** Returns what is left of an object. Allocates only if something is left, which is rare. */
function leftOf(object: JsonObject, meaning: ReadonlySet<string>): Fields | undefined {
  let left: Fields | undefined;
  for (const name in object) {
    if (meaning.has(name) || object[name] === null) continue;
    (left ??= {})[name] = object[name];
  }
  return left;
}

function usageLeft(usage: JsonObject): Fields | undefined {
  const details: [string, Fields | undefined][] = [
    ['prompt_tokens_details', detailsLeft(usage['prompt_tokens_details'], promptMeaning)],
    ['completion_tokens_details', detailsLeft(usage['completion_tokens_details'], completionMeaning)],
  ];
  const left = Object.entries({ ...leftOf(usage, usageMeaning), ...Object.fromEntries(details) }).filter(
    ([name, value]) => value !== undefined && !accountName.test(name),
  );
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function detailsLeft(details: unknown, meaning: ReadonlySet<string>): Fields | undefined {
  return isObject(details) ? leftOf(details, meaning) : undefined;
}

/** Returns what the model wrote in a choice, so that it can be counted if the upstream reports no usage. */
function modelText(choice: JsonObject): string {
  const message = choice['delta'] ?? choice['message'];
  if (!isObject(message)) return '';
  const texts = [message['content'], message['reasoning_content'] ?? message['reasoning'], message['refusal']];
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  for (const call of calls) {
    const fn: unknown = isObject(call) ? (call['function'] ?? call['custom']) : undefined;
    if (isObject(fn)) texts.push(fn['name'], fn['arguments'] ?? fn['input']);
  }
  return texts.filter((text) => typeof text === 'string').join('');
}
