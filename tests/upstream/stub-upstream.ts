// A mock vendor for tests: it uses all three wire formats as the vendors do, is strict about requests, and follows a script for each answer.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { close, listen } from '#kit/testing/local-server.js';
import { answersIn, type WireName } from './answers/answers.js';
import { type Json, Refused } from './checks/check.js';
import { checkChatCompletions } from './checks/check-chat-completions.js';
import { checkCountTokens, checkMessages, messagesVersions } from './checks/check-messages.js';
import { checkInputTokens, checkResponses } from './checks/check-responses.js';
import { deliverFrames, deliverWhole } from './answers/deliver.js';
import { checkEmbeddings, embeddingsBody } from './answers/embeddings.js';
import { scriptsByModel } from './fixtures.js';
import { currentRules, type VendorRules } from './checks/rules.js';
import type { Script } from './script.js';

/** A request that the stub received. */
export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
  /** Resolves when the exchange is over: true if the client disconnected before the stub had finished. */
  readonly clientLeft: Promise<boolean>;
}

/** A request that violated a rule of the vendor. */
interface RefusedRequest {
  readonly path: string;
  readonly body: Json;
  readonly status: number;
  /** The vendor's error message. */
  readonly message: string;
}

/** A running stub. */
export interface StubUpstream {
  /** Address up to and including the version segment. */
  readonly baseUrl: string;
  /** All requests in the order of their arrival, including refused ones. */
  readonly requests: readonly RecordedRequest[];
  /** The requests since the last `takeRefused` that the vendor would reject. A scripted status does not count. */
  readonly refused: readonly RefusedRequest[];
  /** Returns and clears the refused requests, for tests that expect them. */
  takeRefused(): RefusedRequest[];
  /** Resolves as soon as the next request arrives, before its body. */
  nextRequest(): Promise<void>;
  /** Connections accepted since the start. */
  connectionsMade(): number;
  /** Sets the scripts for requests for this model: they are used one after another, and the last one for all further requests. */
  script(model: string, ...scripts: Script[]): void;
  /** Sets the rules of this model. */
  rules(model: string, rules: VendorRules): void;
  /** Breaks all connections and refuses new ones, as a server that died. */
  down(): Promise<void>;
  /** Listens again on the same port. */
  up(): Promise<void>;
  stop(): Promise<void>;
}

/** The key that the stub accepts by default. */
export const stubApiKey = 'sk-stub-0123456789abcdef-secret';

/** The keys that the stub knows; it refuses each request with a limited one with status 429. */
type Keys = Readonly<Record<string, 'accepted' | 'limited'>>;

/** Starts a stub on a free port of 127.0.0.1. `rules` apply to all models, in addition to their own. */
export async function startStubUpstream(
  options: { apiKey?: string; moreKeys?: Readonly<Record<string, 'accepted' | 'limited'>>; rules?: VendorRules } = {},
): Promise<StubUpstream> {
  const keys: Keys = { [options.apiKey ?? stubApiKey]: 'accepted', ...options.moreKeys };
  const scripts = new Map<string, Script[]>();
  const rules = new Map<string, VendorRules>();
  const requests: RecordedRequest[] = [];
  const refused: RefusedRequest[] = [];
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });

  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const received = await text(request);
    const clientLeft = new Promise<boolean>((resolve) => response.once('close', () => resolve(!response.writableFinished)));
    const path = (request.url ?? '').split('?')[0]!;
    const format = formatOf(path);
    let body: Json = {};
    try {
      if (request.method === 'GET') return answerGet(request, response, path, keys);
      body = parse(received);
      requests.push({ path, headers: request.headers, body, clientLeft });
      checkKey(request.headers, format, keys);
      checkRequest(path, body, request.headers, { ...currentRules, ...options.rules, ...rules.get(String(body['model'])) });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused.push({ path, body, status: error.status, message: error.message });
      return sendJson(response, error.status, errorBody(format, error));
    }
    if (path === '/v1/messages/count_tokens' || path === '/v1/responses/input_tokens') {
      const count = lastScript(String(body['model'])).count ?? JSON.stringify(body['messages'] ?? body['input']).length;
      return sendJson(response, 200, { input_tokens: count });
    }
    await answer(response, path === '/v1/embeddings' ? 'embeddings' : format, body, nextScript(String(body['model'])));
  };

  const lastScript = (model: string): Script => scripts.get(model)?.at(-1) ?? scriptsByModel[model] ?? {};
  const nextScript = (model: string): Script => {
    const queue = scripts.get(model);
    return queue !== undefined && queue.length > 1 ? queue.shift()! : lastScript(model);
  };

  const stop = (): Promise<void> => close(server);
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    refused,
    takeRefused: () => refused.splice(0),
    nextRequest: async () => void (await once(server, 'request')),
    connectionsMade: () => connections,
    script: (model, ...next) => void scripts.set(model, next),
    rules: (model, wanted) => void rules.set(model, wanted),
    down: stop,
    up: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
    stop,
  };
}

/** Serves the list of models, which has the same path in all formats; how the key is sent shows the format. */
function answerGet({ headers }: IncomingMessage, response: ServerResponse, path: string, keys: Keys): void {
  const isMessages = headers['x-api-key'] !== undefined || headers['anthropic-version'] !== undefined;
  const format = isMessages ? 'messages' : 'chat-completions';
  if (isMessages) checkVersion(headers);
  checkKey(headers, format, keys);
  if (path !== '/v1/models') throw new Refused(`Unknown request URL: GET ${path}`, null, 404);
  const ids = Object.keys(scriptsByModel);
  if (isMessages)
    return sendJson(response, 200, {
      data: ids.map((id) => ({ type: 'model', id, display_name: id, created_at: '2026-01-01T00:00:00Z' })),
      has_more: false,
      first_id: ids[0],
      last_id: ids.at(-1),
    });
  sendJson(response, 200, { object: 'list', data: ids.map((id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'stub' })) });
}

function formatOf(path: string): WireName {
  if (path.startsWith('/v1/messages')) return 'messages';
  return path.startsWith('/v1/responses') ? 'responses' : 'chat-completions';
}

async function answer(response: ServerResponse, format: WireName | 'embeddings', body: Json, script: Script): Promise<void> {
  const { fault } = script;
  if (fault?.kind === 'status') return sendError(response, fault.status, fault.body, fault.headers ?? {});
  if (fault?.kind === 'slow-headers') {
    const left = new AbortController();
    response.once('close', () => left.abort());
    await sleep(fault.delayMs, undefined, { signal: left.signal }).catch(() => undefined);
    if (response.destroyed) return;
  }
  if (format === 'embeddings') return deliverWhole(response, JSON.stringify(embeddingsBody(script, body)), script);
  const { whole, frames, errorFrame } = answersIn[format];
  if ((body['stream'] !== true && script.alwaysStreams !== true) || fault?.kind === 'whole-answer')
    return deliverWhole(response, JSON.stringify(whole(script, body)), script);
  await deliverFrames(response, frames(script, body), script, errorFrame);
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new Refused('We could not parse the JSON body of your request.');
  }
}

function checkRequest(path: string, body: Json, headers: IncomingHttpHeaders, rules: VendorRules): void {
  if (path === '/v1/chat/completions') checkChatCompletions(body, rules);
  else if (path === '/v1/embeddings') checkEmbeddings(body);
  else if (path === '/v1/messages') checkMessages(body, checkVersion(headers), rules, betasOf(headers));
  else if (path === '/v1/messages/count_tokens') checkCountTokens(body, checkVersion(headers), rules, betasOf(headers));
  else if (path === '/v1/responses') checkResponses(body, rules);
  else if (path === '/v1/responses/input_tokens') checkInputTokens(body, rules);
  else throw new Refused(`Unknown request URL: POST ${path}`, null, 404);
}

function checkKey(headers: IncomingHttpHeaders, format: WireName, keys: Keys): void {
  const bearer = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1];
  const sent = format === 'messages' ? (headers['x-api-key'] ?? bearer) : bearer;
  const state = keys[String(sent)];
  if (state === undefined) throw new Refused(`Incorrect API key provided: ${String(sent).slice(0, 7)}***.`, null, 401);
  if (state === 'limited') throw new Refused('Rate limit reached for this key.', null, 429);
}

function checkVersion(headers: IncomingHttpHeaders): string {
  const version = headers['anthropic-version'];
  if (typeof version !== 'string') throw new Refused('anthropic-version: header is required');
  if (!messagesVersions.includes(version)) throw new Refused(`anthropic-version: "${version}" is not a valid version`);
  return version;
}

function betasOf(headers: IncomingHttpHeaders): string[] {
  const betas = String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');
  const strange = betas.find((beta) => !/^[a-z0-9-]+-\d{4}-\d{2}-\d{2}$|^claude-code-\d{8}$/.test(beta));
  if (strange !== undefined) throw new Refused(`Unexpected value(s) \`${strange}\` for the \`anthropic-beta\` header.`);
  return betas;
}

function errorBody(format: WireName, { message, param, status }: Refused): unknown {
  const type = status === 401 ? 'authentication_error' : status === 404 ? 'not_found_error' : 'invalid_request_error';
  if (format === 'messages') return { type: 'error', error: { type, message }, request_id: 'req_stub' };
  return { error: { message, type: 'invalid_request_error', param, code: status === 401 ? 'invalid_api_key' : null } };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_stub', 'request-id': 'req_stub' });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>>): void {
  const isHtml = typeof body === 'string';
  response.writeHead(status, {
    'content-type': isHtml ? 'text/html' : 'application/json',
    'x-request-id': 'req_stub',
    'request-id': 'req_stub',
    ...headers,
  });
  response.end(isHtml ? body : JSON.stringify(body));
}
