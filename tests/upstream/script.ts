// What the stub upstream shall do with a request: an answer, how it reports usage, and what goes wrong on the way.
import type { Json } from './check.js';

/** A piece of an answer. */
export type Block =
  | {
      readonly type: 'text';
      readonly text: string;
      /** chat-completions: a log probability for each delta. */
      readonly logprobs?: boolean;
      /** messages: where it says so from. */
      readonly citations?: readonly Json[];
      /** chat-completions: the same in that format. */
      readonly annotations?: readonly Json[];
    }
  | { readonly type: 'refusal'; readonly text: string }
  /** Without a text but with a signature: what is shown when the display is omitted. */
  | { readonly type: 'reasoning'; readonly text: string; readonly signature?: string }
  | { readonly type: 'redacted_reasoning'; readonly data: string }
  /** Of a custom tool (chat-completions), `arguments` is its free text. */
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string; readonly custom?: boolean }
  /** Something of one vendor only. messages: the block as it starts, and its deltas. chat-completions: a delta. */
  | { readonly type: 'vendor'; readonly start?: Json; readonly deltas?: readonly Json[]; readonly delta?: Json };

/** Token figures in neither format's terms: `input` excludes what came from or went to caches. */
export interface Usage {
  readonly input: number;
  readonly cacheRead?: number;
  readonly cacheWrite5m?: number;
  readonly cacheWrite1h?: number;
  readonly output: number;
  readonly reasoning?: number;
}

/**
 * Where a stream says its usage. chat-completions: "last-chunk" (the vendor's), "finish-chunk", "every-chunk", "first-chunk".
 * Both: "zero-at-end" is the true figures early and zeros in the last place.
 */
export type UsagePlace = 'last-chunk' | 'finish-chunk' | 'every-chunk' | 'first-chunk' | 'zero-at-end';

/** Something that goes wrong. */
export type Fault =
  /** An error response instead of an answer. A body that is text is sent as HTML, anything else as JSON. */
  | { readonly kind: 'status'; readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** Nothing at all for so long. */
  | { readonly kind: 'slow-headers'; readonly delayMs: number }
  /** So many frames, then silence with the connection open, but for a comment now and then as a sign of life. */
  | { readonly kind: 'stall'; readonly afterFrames: number; readonly signsOfLife?: boolean }
  /** One byte at a time. */
  | { readonly kind: 'drip' }
  /** So many bytes, then a clean end of the body. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** So many bytes, then a reset of the connection. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** So many frames, then one that is not JSON. */
  | { readonly kind: 'malformed-json'; readonly afterFrames: number }
  /** So many frames, then the format's error frame. */
  | { readonly kind: 'error-frame'; readonly afterFrames: number; readonly error: unknown }
  /** The frames under another content type. */
  | { readonly kind: 'content-type'; readonly contentType: string }
  /** A whole answer as JSON, although a stream was asked for. */
  | { readonly kind: 'whole-answer' }
  /** The frames compressed, although nobody asked for that. */
  | { readonly kind: 'gzip' }
  /** One frame of so many bytes before the rest. */
  | { readonly kind: 'huge-chunk'; readonly bytes: number }
  /** A response header of so many bytes. */
  | { readonly kind: 'huge-header'; readonly bytes: number };

/** How the frames look on the wire, beside what they say. */
export interface WireStyle {
  readonly lineEnd?: '\n' | '\r\n' | '\r';
  /** A comment before each frame. */
  readonly comments?: boolean;
  /** messages: frames without their `event:` line. */
  readonly dataOnly?: boolean;
  /** chat-completions: without the `[DONE]`. */
  readonly withoutDone?: boolean;
  /** Without the last blank line. */
  readonly unterminated?: boolean;
  /** So many bytes in each packet, whatever they cut in two. */
  readonly packetBytes?: number;
}

/** The whole of what the stub does with one request. */
export interface Script {
  readonly blocks?: readonly Block[];
  /** chat-completions: the answers beside the first, when n > 1. */
  readonly otherChoices?: readonly (readonly Block[])[];
  /** The format's own word; by default the one that fits the blocks. */
  readonly stopReason?: string;
  readonly stopSequence?: string;
  /** Absent: counted in words. "none": not reported. */
  readonly usage?: Usage | 'none';
  readonly usagePlace?: UsagePlace;
  /** Raw `usage` objects in place of `usage`, for figures that no vendor should send. */
  readonly rawUsage?: unknown;
  /** Fields that the vendor says in addition: in every chunk, or in the message. */
  readonly envelope?: Json;
  /** The same beside the stop reason: in the finishing choice, or in the delta of `message_delta`. */
  readonly atEnd?: Json;
  /** Characters in one delta; by default 8. */
  readonly deltaChars?: number;
  /** Interleave the fragments of parallel tool calls (chat-completions only). */
  readonly interleaveToolCalls?: boolean;
  /** Changes the events or chunks of a stream before they are written; a text among them goes onto the wire as it is. */
  readonly edit?: (events: readonly Json[]) => readonly (Json | string)[];
  readonly style?: WireStyle;
  /** Pause between frames. */
  readonly frameDelayMs?: number;
  readonly fault?: Fault;
  /** What POST /messages/count_tokens answers; by default the length of the messages' JSON. */
  readonly count?: number;
}
