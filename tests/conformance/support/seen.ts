// What a caller saw of an answer, in neither format's terms.

/** Token counts by class, as far as the caller's format tells them apart. */
export interface SeenUsage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A tool call. */
export interface SeenCall {
  readonly id: string;
  readonly name: string;
  /** As text; a caller of the messages format is given an object when it asks for a whole answer. */
  readonly arguments: string;
}

/** Why an answer ended. */
export type SeenStop = 'end' | 'max_tokens' | 'tool_calls' | 'refusal' | 'stop_sequence' | 'context_full' | 'pause';

/** Everything of one answer that has a meaning in both formats. */
export interface Seen {
  text: string;
  reasoning: string;
  refusal: string;
  /** Of the reasoning, in order. */
  signatures: string[];
  redacted: string[];
  calls: SeenCall[];
  /** Undefined: it did not end, or not well. */
  stop: SeenStop | undefined;
  usage: SeenUsage | undefined;
  /** The type of the error that ended it. */
  error: string | undefined;
}

/** Nothing yet. */
export function nothing(): Seen {
  return {
    text: '',
    reasoning: '',
    refusal: '',
    signatures: [],
    redacted: [],
    calls: [],
    stop: undefined,
    usage: undefined,
    error: undefined,
  };
}

/** The same text for the same JSON; a text that is none, as it is. */
export function normalJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
