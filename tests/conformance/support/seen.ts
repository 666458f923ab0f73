// The part of an answer that a caller received, independent of the format.

/** Token counts by class, as far as the caller's format distinguishes them. */
export interface SeenUsage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A tool call. */
interface SeenCall {
  readonly id: string;
  readonly name: string;
  /** As text, although a whole answer of the messages format has an object. */
  readonly arguments: string;
}

/** Why an answer ended. */
export type SeenStop = 'end' | 'max_tokens' | 'tool_calls' | 'refusal' | 'stop_sequence' | 'context_full' | 'pause';

/** The parts of an answer that have a meaning in both formats. */
export interface Seen {
  text: string;
  reasoning: string;
  refusal: string;
  /** The signatures of the reasoning, in order. */
  signatures: string[];
  redacted: string[];
  calls: SeenCall[];
  /** Undefined if the answer did not end, or ended with an error. */
  stop: SeenStop | undefined;
  usage: SeenUsage | undefined;
  /** The type of the error that ended the answer. */
  error: string | undefined;
}

/** Returns an empty answer. */
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

/** Returns the same text for equal JSON; a text that is not JSON is returned unchanged. */
export function normalJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
