// Ready-made scripts, used for requests for the model of the same name, in any format.
import type { Block, Script } from './script.js';

const text: Block = { type: 'text', text: 'Hello from the stub upstream.' };
const weather: Block = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' };
const time: Block = { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' };
const signature = 'c2lnbmF0dXJl';

const vendorError = (type: string, message: string, code: string | null = null): unknown => ({
  type: 'error',
  error: { type, message, param: null, code },
});
const status = (code: number, type: string, message: string, more: { code?: string; headers?: Record<string, string> } = {}): Script => ({
  fault: {
    kind: 'status',
    status: code,
    body: vendorError(type, message, more.code),
    ...(more.headers === undefined ? {} : { headers: more.headers }),
  },
});
const searchQuery = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
const searchHit = {
  type: 'web_search_result',
  url: 'https://example.com',
  title: 'Example',
  encrypted_content: 'b3BhcXVl',
  page_age: null,
};

/** Scripts for what a vendor can answer. */
const features: Readonly<Record<string, Script>> = {
  text: { blocks: [text] },
  tool: { blocks: [weather] },
  'text-and-tool': { blocks: [text, weather] },
  'parallel-tools': { blocks: [weather, time] },
  'interleaved-tools': { blocks: [weather, time], interleaveToolCalls: true },
  'empty-arguments': { blocks: [{ ...weather, arguments: '' }] },
  'custom-tool': { blocks: [{ type: 'tool_call', id: 'call_1', name: 'run_code', arguments: 'print("free text")', custom: true }] },
  reasoning: { blocks: [{ type: 'reasoning', text: 'Let me think about it.', signature }, text] },
  'reasoning-unsigned': { blocks: [{ type: 'reasoning', text: 'Let me think about it.' }, text] },
  'reasoning-omitted': { blocks: [{ type: 'reasoning', text: '', signature }, text] },
  'reasoning-redacted': { blocks: [{ type: 'redacted_reasoning', data: 'cmVkYWN0ZWQ=' }, text] },
  'reasoning-and-tool': { blocks: [{ type: 'reasoning', text: 'I need the weather.', signature }, weather] },
  refusal: { blocks: [{ type: 'refusal', text: 'I cannot help with that.' }], atEnd: {} },
  structured: { blocks: [{ type: 'text', text: '{"city":"Paris","degrees":21}' }] },
  logprobs: { blocks: [{ type: 'text', text: 'Hello there.', logprobs: true }] },
  choices: { blocks: [text], otherChoices: [[{ type: 'text', text: 'Another answer.' }]] },
  citations: {
    blocks: [
      {
        type: 'text',
        text: 'The grass is green.',
        citations: [
          {
            type: 'char_location',
            cited_text: 'green',
            document_index: 0,
            document_title: 'Grass',
            start_char_index: 0,
            end_char_index: 5,
          },
        ],
      },
    ],
  },
  annotations: {
    blocks: [
      {
        type: 'text',
        text: 'See example.com.',
        annotations: [
          { type: 'url_citation', url_citation: { start_index: 4, end_index: 15, url: 'https://example.com', title: 'Example' } },
        ],
      },
    ],
  },
  'server-tool': {
    blocks: [
      {
        type: 'vendor',
        start: searchQuery,
        deltas: [
          { type: 'input_json_delta', partial_json: '{"query":' },
          { type: 'input_json_delta', partial_json: '"news"}' },
        ],
        item: { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'news' } },
        events: [{ type: 'response.web_search_call.searching' }, { type: 'response.web_search_call.completed' }],
      },
      { type: 'vendor', start: { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [searchHit] } },
      text,
    ],
  },
  'unknown-fields': { blocks: [text], envelope: { new_field: { of: 'tomorrow' } }, atEnd: { new_end_field: 7 } },
  'unknown-block': {
    blocks: [
      {
        type: 'vendor',
        start: { type: 'hologram', shape: '' },
        deltas: [{ type: 'hologram_delta', shape: 'cube' }],
        delta: { hologram: 'cube' },
        item: { type: 'hologram', id: 'hg_1', shape: 'cube' },
        events: [{ type: 'response.hologram.delta', delta: 'cu' }],
      },
      text,
    ],
  },
};

/** Scripts for how an answer can end, and the usage that it can report. */
const outcomes: Readonly<Record<string, Script>> = {
  'content-filter': { blocks: [text], stopReason: 'content_filter' },
  'context-full': { blocks: [text], stopReason: 'model_context_window_exceeded' },
  'pause-turn': { blocks: [text], stopReason: 'pause_turn' },
  'no-usage': { blocks: [text], usage: 'none' },
  'usage-on-finish': { blocks: [text], usagePlace: 'finish-chunk' },
  'usage-everywhere': { blocks: [text], usagePlace: 'every-chunk' },
  'usage-zero-at-end': { blocks: [text], usagePlace: 'zero-at-end', usage: { input: 12, cacheRead: 3, output: 5 } },
  'cached-usage': { blocks: [text], usage: { input: 3, cacheRead: 4, cacheWrite5m: 2, output: 5 } },
  'all-usage': { blocks: [text], usage: { input: 11, cacheRead: 7, cacheWrite5m: 5, cacheWrite1h: 3, output: 13, reasoning: 2 } },
};

/** Scripts for faults. */
const faults: Readonly<Record<string, Script>> = {
  'status-400': status(400, 'invalid_request_error', 'temperature: this model refuses it'),
  'status-401': status(401, 'authentication_error', 'Incorrect API key provided: sk-stub*******cret.'),
  'status-429': status(429, 'rate_limit_error', 'Slow down.', { code: 'rate_limit_exceeded', headers: { 'retry-after': '3' } }),
  'no-quota': status(429, 'insufficient_quota', 'You exceeded your current quota.', { code: 'insufficient_quota' }),
  'status-500': status(500, 'api_error', 'Internal server error'),
  'status-503': status(503, 'server_error', 'The engine is currently overloaded'),
  'status-529': status(529, 'overloaded_error', 'Overloaded'),
  'html-502': { fault: { kind: 'status', status: 502, body: '<html><body><h1>502 Bad Gateway</h1>proxy-17.internal</body></html>' } },
  'slow-headers': { fault: { kind: 'slow-headers', delayMs: 60_000 } },
  stall: { blocks: [text], fault: { kind: 'stall', afterFrames: 4 } },
  drip: { blocks: [text], fault: { kind: 'drip' } },
  cut: { blocks: [text], fault: { kind: 'cut', afterBytes: 900 } },
  reset: { blocks: [text], fault: { kind: 'reset', afterBytes: 700 } },
  gzip: { blocks: [text], fault: { kind: 'gzip' } },
  'whole-answer': { blocks: [text], fault: { kind: 'whole-answer' } },
  'malformed-json': { blocks: [text], fault: { kind: 'malformed-json', afterFrames: 4 } },
  'json-page': { blocks: [text], fault: { kind: 'content-type', contentType: 'application/json' } },
  'error-frame': {
    blocks: [text],
    fault: {
      kind: 'error-frame',
      afterFrames: 4,
      error: { type: 'overloaded_error', message: 'Overloaded', param: null, code: 'overloaded' },
    },
  },
  'huge-chunk': { blocks: [text], fault: { kind: 'huge-chunk', bytes: 8 << 20 } },
};

/** The scripts by model name. A request for any other model is answered with text. */
export const scriptsByModel: Readonly<Record<string, Script>> = { ...features, ...outcomes, ...faults };
