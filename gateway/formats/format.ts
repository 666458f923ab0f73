// The interface of a wire format: a set of pure functions between its JSON and the common inference call.
import type { AppError } from '#client/errors/app-error.js';
import type { Modality } from '#proto/catalog/v1/catalog.js';
import type { CountTokensRequest, Event, GenerateRequest, Prompt } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';

/** Holds a validated and translated request body. */
export interface ParsedCall {
  /** The model that the caller named. */
  model: string;
  /** Whether the caller wants a stream; decided by the body, never by the Accept header. */
  streaming: boolean;
  /** The caller's own cap in tokens; undefined if none is given. */
  maxOutputTokens?: number;
  /** The common inference call without call_id, targets and max_output_tokens, which the metered call fills in. */
  request: GenerateRequest;
  /** chat-completions: whether the caller requested the usage chunk. */
  includeUsage: boolean;
  /**
   * An upper bound of the input tokens, whatever the tokenizer: the UTF-8 bytes of everything in the prompt, 64 for each
   * message, 512 for each tool, and 1024 if there are tools.
   */
  inputTokensMax: number;
  /** The number of inputs that are processed by themselves, each of which may fill the context. Absent: one. */
  inputs?: number;
  /** Number of images in the prompt; the model decides how many tokens each may have. */
  images: number;
  /** Number of documents in the prompt whose tokens cannot be derived from their bytes, in particular PDFs: with one, the input may fill the context. */
  documents: number;
  /** The modalities other than text that the model must be able to read, each with the path of the first field that needs it. */
  needs: readonly ModalityNeed[];
  /** Fields that were accepted but have no effect here, for the response header x-tollgate-dropped-params. */
  droppedFields: string[];
  /** embeddings: how the caller wants the vectors. */
  vectorEncoding?: 'float' | 'base64';
  /** responses: what the answer repeats of the request. */
  echo?: Echo | undefined;
  /** responses: what is stored alongside the answer, if it is to be stored. */
  storable?: StorableInput | undefined;
}

/** The part of a request that is stored with its answer. */
interface StorableInput {
  readonly input: readonly Readonly<Record<string, unknown>>[];
  /** The ids of the responses that the request continues, oldest first. */
  readonly previousIds: readonly string[];
}

/** The stored objects that a body refers to, by id. */
export interface References {
  /** The response that it continues. */
  readonly previousId: string | undefined;
  readonly itemIds: readonly string[];
}

/** What was stored under the references of a body. */
export interface StoredInput {
  /** The ids of the responses that the body continues, oldest first. */
  readonly previousIds: readonly string[];
  /** Their items. */
  readonly continued: readonly Readonly<Record<string, unknown>>[];
  /** Items that the body refers to, by id; without those that are not stored. */
  readonly items: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** What the answer of a responses call repeats of its request. */
export interface Echo {
  /** The caller's values of these fields, or the vendor's defaults. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The tools in namespaces, by their names in the common call. */
  readonly toolNames: ReadonlyMap<string, { readonly name: string; readonly namespace: string }>;
}

/** Holds a validated and translated body of a token count. */
export interface ParsedCount {
  /** The model that the caller named. */
  model: string;
  /** The common request without targets. */
  request: Omit<CountTokensRequest, 'targets' | 'prompt'> & { prompt: Prompt };
  /** The modalities other than text that the model must be able to read. */
  needs: readonly ModalityNeed[];
  /** Fields that were accepted but have no effect here. */
  droppedFields: string[];
}

/** Describes a part of a body that only some models can read. */
export interface ModalityNeed {
  readonly modality: Modality;
  /** The path as the caller would write it. */
  readonly field: string;
}

/** Holds the text that parts of a body were parsed from. */
export interface BodyText {
  /** Of each top-level field, by name. */
  readonly fields: ReadonlyMap<string, string>;
  /** Of each element of the field `messages` or `input`, by the name of the field. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
}

/** Holds what is known about a request alongside its parsed body, mostly from its headers. */
export interface FormatHeaders {
  /** The account that makes the call: it keeps apart the names that callers choose for a vendor's caches. */
  readonly accountId?: string;
  /** The version of the messages format, a date; absent for its oldest. */
  readonly version?: string;
  /** The header by which Codex names itself, for example codex_exec; empty or absent from other clients. */
  readonly originator?: string;
  /** The flags of the header anthropic-beta; the chat-completions format has none. */
  readonly betas?: readonly string[];
  /** responses: what the body refers to; absent where nothing is stored. */
  readonly stored?: StoredInput | undefined;
  /** The text of the body's parts, if it may be passed on in place of the parsed value. */
  readonly bodyText?: BodyText;
}

/**
 * Why an answer is not stored: there is no room, it is too large, the store cannot be reached, or it was stored and has been deleted since.
 */
export type StoreFailure = 'limit_reached' | 'too_large' | 'unavailable' | 'expired';

/** The fields of a common inference call that the caller's body does not set. */
export const unfilledRequest = { callId: '', targets: [], maxOutputTokens: 0, messagesVersion: '', inputTokensMax: 0 };

/** Holds what rendering an answer needs alongside its events. */
export interface AnswerContext {
  /** The call id, req_…; the answer's own id is derived from it. */
  requestId: string;
  /** The catalog id that the caller sees as `model`. */
  model: string;
  createdAtMs: number;
  includeUsage: boolean;
  /** embeddings: how vectors are returned. */
  vectorEncoding?: 'float' | 'base64' | undefined;
  /** As in ParsedCall. */
  echo?: Echo | undefined;
}

/** Holds what a streamed answer needs in addition. */
export interface StreamContext extends AnswerContext {
  /** The input that message_start shows: an estimate until the upstream has counted, then its own figures. Output is ignored. */
  inputEstimate: TokenCounts;
}

/** An error as an HTTP response. */
export interface HttpError {
  status: number;
  body: unknown;
  headers: Record<string, string>;
}

/** The formats that callers use. */
export type FormatName = GeneratingFormatName | 'embeddings';
/** The formats whose answers a model generates. */
export type GeneratingFormatName = 'chat-completions' | 'messages' | 'responses';

/** Implements one wire format. */
export interface Format {
  name: FormatName;
  /** Validates and translates a body. Raises invalid_request or unsupported_field with details.field and a message that names the field and the fix. */
  parse(body: unknown, headers: FormatHeaders): ParsedCall;
  /** Returns the stored objects that a body refers to, which was not validated; absent in formats without such references. */
  references?(body: unknown): References;
  /** Encodes events into SSE frames (serialised text, for example "data: {…}\n\n"). Never emits the terminal frames before `finish`. */
  stream(context: StreamContext): StreamEncoder;
  /** Collects the whole answer from events. */
  collector(context: AnswerContext): Collector;
  /** Returns the HTTP status, body and extra headers of an error in this format. */
  error(error: AppError, requestId: string): HttpError;
  /** Returns the in-band error frame for a stream that has begun; nothing may follow it. Used unless the encoder has `fail`. */
  errorFrame(error: AppError, requestId: string): string;
  /** Keep-alive for an idle stream that has begun: an SSE comment or a ping event. */
  keepAlive: string;
}

/** Holds the state of one streamed answer. */
export interface StreamEncoder {
  /** Returns the frames of these events ('' if none), and holds back everything from the finish on. */
  push(events: readonly Event[]): string;
  /** Returns the final frames, to be sent only after the usage is recorded. `storeFailure`: why the answer is not stored, if its request did not rule that out. */
  finish(usage: TokenCounts, storeFailure?: StoreFailure): string;
  /** Returns the frames that end a broken stream, in formats where they depend on what was sent; nothing may follow them. */
  fail?(error: AppError): string;
}

/** Holds the state of one answer that is sent whole. */
export interface Collector {
  push(events: readonly Event[]): void;
  /** Returns the response body. `storeFailure` as in StreamEncoder. */
  finish(usage: TokenCounts, storeFailure?: StoreFailure): unknown;
}
