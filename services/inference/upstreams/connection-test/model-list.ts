// The steps of a test that request the upstream's list of models: whether the secret is accepted, and whether the model is listed.
import { readText } from '#kit/net/read-text.js';
import { finding } from '#rules/errors/finding-sentences.js';
import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { InferenceConfig } from '../../config.js';
import { decodedBody } from '../http/decoded-body.js';
import type { HttpUpstreamSettings } from '../http/http-upstream.js';
import type { Headers, Wire } from '../http/wire.js';
import { isObject, parsedJson } from '../answers/stream-decoder.js';
import { faultWords } from './operator-text.js';
import { type Found, StepFault } from './step-log.js';

/** Maximum bytes of a body that a test reads. */
export const testBodyBytesMax = 65_536;

/** The dependencies of a request for the list. */
export interface ListRequest {
  readonly settings: HttpUpstreamSettings;
  readonly wire: Wire;
  readonly config: Pick<InferenceConfig, 'headerBytesMax'>;
  readonly signal: AbortSignal;
}

/** The head of a response, and its body. */
export interface ListResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Dispatcher.ResponseData['body'];
}

/** Returns a client that uses only this connection. */
export function clientOver(socket: Socket, url: URL, { headerBytesMax }: Pick<InferenceConfig, 'headerBytesMax'>): Client {
  let isFresh = true;
  return new Client(url.origin, {
    connect: (_options, callback) => {
      const isFirst = isFresh;
      isFresh = false;
      // The client does not expect a synchronous callback.
      queueMicrotask(() => (isFirst ? callback(null, socket) : callback(new Error('the server closed the connection'), null)));
    },
    maxHeaderSize: headerBytesMax,
    // The time limit of the whole test is enforced elsewhere.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Sends the request with a secret and evaluates the status. Raises StepFault if access is refused. */
export async function authenticate(
  client: Client,
  { settings, wire, signal }: ListRequest,
  secret: string | undefined,
  nowMs: number,
): Promise<Found<ListResponse>> {
  const { pathname } = new URL(settings.baseUrl);
  const response = await client.request({
    method: 'GET',
    path: `${pathname.replace(/\/+$/, '')}/models`,
    headers: {
      ...wire.headers(secret, { messagesVersion: '', native: undefined }),
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
    },
    signal,
  });
  response.body.on('error', () => {});
  const answer: ListResponse = { status: response.statusCode, headers: response.headers as Headers, body: response.body };
  const { status, headers } = answer;
  if (status >= 300 && status < 400) {
    throw new StepFault(finding('redirect', { status, location: String(headers['location'] ?? 'nowhere') }));
  }
  if (status === 401 || status === 403) {
    const detail = await refusalWords(answer, wire, nowMs);
    throw new StepFault(finding(secret === undefined ? 'secret_missing' : 'secret_refused', { detail }));
  }
  if (status < 200 || status >= 300) return { what: finding('secret_unclear', { status }), isSkipped: true, value: answer };
  if (secret === undefined) return { what: finding('no_secret', {}), value: answer };
  return { what: finding('secret_not_refused', {}), value: answer };
}

/** Reads the list. A server without a list passes; raises StepFault if it answers with something else. */
export async function readModels(
  answer: ListResponse,
  { wire }: ListRequest,
  nowMs: number,
  wanted: string | undefined,
): Promise<Found<void>> {
  const { status, headers } = answer;
  if (status === 404 || status === 405 || status === 501) {
    return {
      what: finding('no_list', { status }),
      isSkipped: true,
      value: undefined,
    };
  }
  if (status < 200 || status >= 300) throw new StepFault(await refusalWords(answer, wire, nowMs));
  const text = await textOf(answer);
  const type = headers['content-type'] ?? '';
  if (/\bhtml\b/i.test(type) || /^\s*</.test(text)) {
    throw new StepFault(finding('page', {}));
  }
  if (Buffer.byteLength(text) >= testBodyBytesMax && /^\s*[{[]/.test(text))
    return { what: finding('list_long', { bytes: testBodyBytesMax }), value: undefined };
  const list = parsedJson(text);
  if (list === undefined) throw new StepFault(finding('list_malformed', { detail: text.slice(0, 200) || '(nothing)' }));
  return { what: listWords(list, wanted), value: undefined };
}

function listWords(list: unknown, wanted: string | undefined): string {
  const models = Array.isArray(list)
    ? list
    : isObject(list)
      ? [list['data'], list['models']].find((entries) => Array.isArray(entries))
      : undefined;
  if (!Array.isArray(models)) throw new StepFault(finding('other_json', {}));
  const hasMore = isObject(list) && list['has_more'] === true;
  const count = models.length;
  if (hasMore) return finding('models_or_more', { count });
  const isListed = models.some((model) => isObject(model) && (model['id'] === wanted || model['name'] === wanted));
  return wanted === undefined || isListed ? finding('models', { count }) : finding('models_without', { count, model: wanted });
}

/** Returns the vendor's text of a refusal, as real calls read it. */
async function refusalWords(answer: ListResponse, wire: Wire, nowMs: number): Promise<string> {
  return faultWords(wire.responseError(answer.status, answer.headers, await textOf(answer), nowMs, ''));
}

function textOf({ headers, body }: ListResponse): Promise<string> {
  return readText(decodedBody(body, headers['content-encoding']), testBodyBytesMax);
}
