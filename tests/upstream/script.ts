// Describes how the stub upstream responds to a request: the answer, how it reports usage, and faults.
import type { Json } from './checks/check.js';

/** A part of an answer. */
export type Block =
  | {
      readonly type: 'text';
      readonly text: string;
      /** chat-completions and responses: a log probability for each delta. */
      readonly logprobs?: boolean;
      /** messages: the sources of the text. */
      readonly citations?: readonly Json[];
      /** chat-completions and, without the object inside, responses: the sources of the text. */
      readonly annotations?: readonly Json[];
    }
  | { readonly type: 'refusal'; readonly text: string }
  /** With a signature but without a text, as when the display is omitted. */
  | { readonly type: 'reasoning'; readonly text: string; readonly signature?: string }
  | { readonly type: 'redacted_reasoning'; readonly data: string }
  /** For a custom tool (chat-completions, responses), `arguments` is free text. */
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string; readonly custom?: boolean }
  /** A vendor-specific part. messages: the block as it starts, and its deltas. chat-completions: a delta. responses: the item, and its events. */
  | {
      readonly type: 'vendor';
      readonly start?: Json;
      readonly deltas?: readonly Json[];
      readonly delta?: Json;
      readonly item?: Json;
      readonly events?: readonly Json[];
    };

/** Token counts, independent of the format: `input` excludes tokens read from or written to caches. */
export interface Usage {
  readonly input: number;
  readonly cacheRead?: number;
  readonly cacheWrite5m?: number;
  readonly cacheWrite1h?: number;
  readonly output: number;
  readonly reasoning?: number;
}

/**
 * Where a stream reports its usage. chat-completions: "last-chunk" (as the vendor does), "finish-chunk", "every-chunk", "first-chunk".
 * Both formats: "zero-at-end" reports the true figures early and zeros in the last place.
 */
export type UsagePlace = 'last-chunk' | 'finish-chunk' | 'every-chunk' | 'first-chunk' | 'zero-at-end';

/** A fault. */
export type Fault =
  /** An error response instead of an answer. A text body is sent as HTML, anything else as JSON. */
  | { readonly kind: 'status'; readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** No response for this time. */
  | { readonly kind: 'slow-headers'; readonly delayMs: number }
  /** This many frames, or half of a whole answer, then silence on the open connection, except for occasional comments if `signsOfLife`. */
  | { readonly kind: 'stall'; readonly afterFrames: number; readonly signsOfLife?: boolean }
  /** One byte at a time. */
  | { readonly kind: 'drip' }
  /** This many bytes, then a clean end of the body. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** This many bytes, then a reset of the connection. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** This many frames, then one that is not JSON. */
  | { readonly kind: 'malformed-json'; readonly afterFrames: number }
  /** This many frames, then the format's error frame. */
  | { readonly kind: 'error-frame'; readonly afterFrames: number; readonly error: unknown }
  /** The frames with a different content type. */
  | { readonly kind: 'content-type'; readonly contentType: string }
  /** A whole answer as JSON, although a stream was requested. */
  | { readonly kind: 'whole-answer' }
  /** Compressed frames, although the client did not accept compression. */
  | { readonly kind: 'gzip' }
  /** One frame of this many bytes before the rest. */
  | { readonly kind: 'huge-chunk'; readonly bytes: number }
  /** A response header of this many bytes. */
  | { readonly kind: 'huge-header'; readonly bytes: number };

/** The syntax of the frames on the wire. */
export interface WireStyle {
  readonly lineEnd?: '\n' | '\r\n' | '\r';
  /** A comment before each frame. */
  readonly comments?: boolean;
  /** messages and responses: frames without their `event:` line. */
  readonly dataOnly?: boolean;
  /** chat-completions: without the `[DONE]`. */
  readonly withoutDone?: boolean;
  /** Without the last blank line. */
  readonly unterminated?: boolean;
  /** Sends packets of this many bytes, even if they split characters. */
  readonly packetBytes?: number;
}

/** Everything that the stub does with one request. */
export interface Script {
  readonly blocks?: readonly Block[];
  /** chat-completions: the other choices, if n > 1. */
  readonly otherChoices?: readonly (readonly Block[])[];
  /** The stop reason in the format's own words; by default the one that matches the blocks. responses: why the answer is incomplete. */
  readonly stopReason?: string;
  readonly stopSequence?: string;
  /** If absent, words are counted; if "none", usage is not reported. */
  readonly usage?: Usage | 'none';
  readonly usagePlace?: UsagePlace;
  /** Raw `usage` objects in place of `usage`, for figures that no vendor should send. */
  readonly rawUsage?: unknown;
  /** Additional fields of the vendor, in every chunk or in the message. */
  readonly envelope?: Json;
  /** Additional fields next to the stop reason: in the finishing choice, the delta of `message_delta`, or the finished response. */
  readonly atEnd?: Json;
  /** Characters per delta; by default 8. */
  readonly deltaChars?: number;
  /** Interleave the fragments of parallel tool calls (not in messages, where one block is open at a time). */
  readonly interleaveToolCalls?: boolean;
  /** Changes the events or chunks of a stream before they are written; texts among them are written unchanged. */
  readonly edit?: (events: readonly Json[]) => readonly (Json | string)[];
  readonly style?: WireStyle;
  /** Pause between frames, or before a whole answer. */
  readonly frameDelayMs?: number;
  /** Sends a stream even if a whole answer was requested. */
  readonly alwaysStreams?: boolean;
  readonly fault?: Fault;
  /** The result of counting tokens (POST /messages/count_tokens, /responses/input_tokens); by default the length of the JSON of the conversation. */
  readonly count?: number;
}
