// What the stub upstream shall do with a request: an answer, how it reports usage, and what goes wrong on the way.

/** A piece of an answer. */
export type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'refusal'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string; readonly signature?: string }
  | { readonly type: 'redacted_reasoning'; readonly data: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string };

/** Token figures in neither format's terms: `input` excludes what came from or went to caches. */
export interface Usage {
  readonly input: number;
  readonly cacheRead?: number;
  readonly cacheWrite5m?: number;
  readonly cacheWrite1h?: number;
  readonly output: number;
  readonly reasoning?: number;
}

/** Where a chat-completions stream says its usage. */
export type UsagePlace = 'last-chunk' | 'finish-chunk' | 'every-chunk';

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
  /** The answer under another content type. */
  | { readonly kind: 'content-type'; readonly contentType: string }
  /** One text delta of so many bytes before the rest. */
  | { readonly kind: 'huge-chunk'; readonly bytes: number }
  /** A response header of so many bytes. */
  | { readonly kind: 'huge-header'; readonly bytes: number };

/** The whole of what the stub does with one request. */
export interface Script {
  readonly blocks?: readonly Block[];
  /** The format's own word; by default the one that fits the blocks. */
  readonly stopReason?: string;
  readonly stopSequence?: string;
  /** Absent: counted in words. "none": not reported. */
  readonly usage?: Usage | 'none';
  readonly usagePlace?: UsagePlace;
  /** Raw `usage` objects in place of `usage`, for figures that no vendor should send. */
  readonly rawUsage?: unknown;
  /** Characters in one delta; by default 8. */
  readonly deltaChars?: number;
  /** Interleave the fragments of parallel tool calls (chat-completions only). */
  readonly interleaveToolCalls?: boolean;
  /** Pause between frames. */
  readonly frameDelayMs?: number;
  readonly fault?: Fault;
}

const text: Block = { type: 'text', text: 'Hello from the stub upstream.' };
const weather: Block = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' };
const time: Block = { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' };

const vendorError = (type: string, message: string, code: string | null = null): unknown => ({ type: 'error', error: { type, message, param: null, code } });

/** Scripts that need no preparation: a request for the model of this name gets it. Any other model answers with text. */
export const scriptsByModel: Readonly<Record<string, Script>> = {
  text: { blocks: [text] },
  tool: { blocks: [weather] },
  'parallel-tools': { blocks: [weather, time] },
  'interleaved-tools': { blocks: [weather, time], interleaveToolCalls: true },
  reasoning: { blocks: [{ type: 'reasoning', text: 'Let me think about it.', signature: 'c2lnbmF0dXJl' }, text] },
  refusal: { blocks: [{ type: 'refusal', text: 'I cannot help with that.' }] },
  'no-usage': { blocks: [text], usage: 'none' },
  'usage-on-finish': { blocks: [text], usagePlace: 'finish-chunk' },
  'usage-everywhere': { blocks: [text], usagePlace: 'every-chunk' },
  'cached-usage': { blocks: [text], usage: { input: 3, cacheRead: 4, cacheWrite5m: 2, output: 5 } },
  'status-400': { fault: { kind: 'status', status: 400, body: vendorError('invalid_request_error', 'temperature: this model refuses it') } },
  'status-401': { fault: { kind: 'status', status: 401, body: vendorError('authentication_error', 'Incorrect API key provided: sk-stub*******cret.') } },
  'status-429': { fault: { kind: 'status', status: 429, body: vendorError('rate_limit_error', 'Slow down.', 'rate_limit_exceeded'), headers: { 'retry-after': '2' } } },
  'no-quota': { fault: { kind: 'status', status: 429, body: vendorError('insufficient_quota', 'You exceeded your current quota.', 'insufficient_quota') } },
  'status-500': { fault: { kind: 'status', status: 500, body: vendorError('api_error', 'Internal server error') } },
  'status-529': { fault: { kind: 'status', status: 529, body: vendorError('overloaded_error', 'Overloaded') } },
  'html-502': { fault: { kind: 'status', status: 502, body: '<html><body><h1>502 Bad Gateway</h1>proxy-17.internal</body></html>' } },
  'slow-headers': { fault: { kind: 'slow-headers', delayMs: 60_000 } },
  stall: { blocks: [text], fault: { kind: 'stall', afterFrames: 4 } },
  drip: { blocks: [text], fault: { kind: 'drip' } },
  cut: { blocks: [text], fault: { kind: 'cut', afterBytes: 700 } },
  reset: { blocks: [text], fault: { kind: 'reset', afterBytes: 700 } },
  'malformed-json': { blocks: [text], fault: { kind: 'malformed-json', afterFrames: 4 } },
  'json-page': { blocks: [text], fault: { kind: 'content-type', contentType: 'application/json' } },
  'error-frame': { blocks: [text], fault: { kind: 'error-frame', afterFrames: 4, error: { type: 'overloaded_error', message: 'Overloaded', param: null, code: 'overloaded' } } },
  'huge-chunk': { blocks: [text], fault: { kind: 'huge-chunk', bytes: 8 << 20 } },
};
