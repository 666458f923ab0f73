// What a wire format is to the rest of the gateway: a set of pure functions between its JSON and the common inference call.
import type { AppError } from '#client/errors/app-error.js';
import type { Modality } from '#proto/catalog/v1/catalog.js';
import type { Event, GenerateRequest } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';

/** A validated request body, translated. */
export interface ParsedCall {
  /** What the caller named. */
  model: string;
  /** Whether the caller wants a stream; decided by the body, never by the Accept header. */
  streaming: boolean;
  /** The caller's own cap in tokens; undefined: none given. */
  maxOutputTokens?: number;
  /** The common inference call without call_id, targets and max_output_tokens, which the metered call fills in. */
  request: GenerateRequest;
  /** chat-completions: the caller asked for the usage chunk. */
  includeUsage: boolean;
  /**
   * An upper bound of the input tokens, whatever the tokenizer: the UTF-8 bytes of everything in the prompt, 64 for each
   * message, 512 for each tool, and 1024 if there are tools.
   */
  inputTokensMax: number;
  /** Images in the prompt; how many tokens each may have is the model's to say. */
  images: number;
  /** Documents in the prompt whose tokens nobody can tell from their bytes, PDFs above all: with one, the input may fill the context. */
  documents: number;
  /** What the model must be able to read beside text, each with the path of the first field that needs it. */
  needs: readonly ModalityNeed[];
  /** Fields that were accepted but have no effect here, for the response header x-tollgate-dropped-params. */
  droppedFields: string[];
}

/** Something in a body that only some models can read. */
export interface ModalityNeed {
  readonly modality: Modality;
  /** The path as the caller would write it. */
  readonly field: string;
}

/** What is known of a request beside its body, from its headers above all. */
export interface FormatHeaders {
  /** Whose call it is: names that callers choose for a vendor's caches are kept apart by it. */
  readonly accountId?: string;
  /** The version of the messages format, a date; absent for its oldest. */
  readonly version?: string;
  /** The flags of the header anthropic-beta; the chat-completions format knows none. */
  readonly betas?: readonly string[];
}

/** The fields of a common inference call that no caller's body fills. */
export const unfilledRequest = { callId: '', targets: [], maxOutputTokens: 0, messagesVersion: '', inputTokensMax: 0 };

/** What an answer needs to know beside its events. */
export interface AnswerContext {
  /** The call id, req_…; the answer's own id is made from it. */
  requestId: string;
  /** The catalog id that the caller sees as `model`. */
  model: string;
  createdAtMs: number;
  includeUsage: boolean;
}

/** What a streamed answer needs to know besides. */
export interface StreamContext extends AnswerContext {
  /** The input that message_start shows: an estimate until the upstream has counted, then its own figures. Output is not looked at. */
  inputEstimate: TokenCounts;
}

/** A refusal as an HTTP answer. */
export interface HttpError {
  status: number;
  body: unknown;
  headers: Record<string, string>;
}

/** One wire format. */
export interface Format {
  name: 'chat-completions' | 'messages';
  /** Throws AppError invalid_request or unsupported_field with details.field and a message that names the field and the fix. */
  parse(body: unknown, headers: FormatHeaders): ParsedCall;
  /** Encodes events into SSE frames (serialised text, for example "data: {…}\n\n"). Never emits the terminal frames before `finish`. */
  stream(context: StreamContext): StreamEncoder;
  /** Collects the whole answer from events. */
  collector(context: AnswerContext): Collector;
  /** HTTP status, body and extra headers of a refusal, in this format's dialect. */
  error(error: AppError, requestId: string): HttpError;
  /** The in-band error frame for a stream that has begun; nothing may follow it. */
  errorFrame(error: AppError, requestId: string): string;
  /** Keep-alive for an idle stream that has begun: an SSE comment or a ping event. */
  keepAlive: string;
}

/** The state of one streamed answer. */
export interface StreamEncoder {
  /** The frames of these events ('' if none); holds back everything from the finish on. */
  push(events: readonly Event[]): string;
  /** The final frames, to be sent only after the usage is on record. */
  finish(usage: TokenCounts): string;
}

/** The state of one answer that is sent whole. */
export interface Collector {
  push(events: readonly Event[]): void;
  /** The response body. */
  finish(usage: TokenCounts): unknown;
}
