// Posts a message to a webhook: signed, to permitted addresses only, without following redirects, and within a time limit.
import { Agent, request } from 'undici';
import { AddressRefused, guardedConnector } from '#kit/net/address-guard.js';
import { readText } from '#kit/net/read-text.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { signatureHeaders } from './signature.js';

/** Maximum duration of one attempt, all steps included. */
export const webhookTimeoutMs = 10_000;
const connectTimeoutMs = 5000;
const headerBytesMax = 16_384;
/** Maximum bytes read of the response body, which is only shown to users to explain a failure. */
const answerBytesMax = 1024;

/** Holds the result of an attempt. */
export interface AttemptResult {
  readonly isDelivered: boolean;
  /** Another attempt would have the same result. */
  readonly isFinal: boolean;
  /** The receiver answered 410 (Gone): it wants no further requests. */
  readonly isGone?: boolean;
  /** What the receiver responded, or why it could not be reached. */
  readonly words: string;
}

/** Holds a request to a webhook. */
export interface WebhookCall {
  readonly url: string;
  readonly body: string;
  /** The signing secret, and the previous one until it expires. */
  readonly secrets: readonly string[];
  /** Identifies the event, the same in every attempt. */
  readonly eventId: string;
  readonly nowMs: number;
}

/** Posts the request; never raises. Any status outside 200 to 299 is a failure, and 410 (Gone) is a final one. */
export async function postWebhook(call: WebhookCall, allowPrivateNetwork: boolean): Promise<AttemptResult> {
  const { url, body } = call;
  const dispatcher = new Agent({
    connect: guardedConnector({ allowPrivateNetwork, timeoutMs: connectTimeoutMs }),
    maxHeaderSize: headerBytesMax,
  });
  try {
    // Redirects are not followed: permission to choose an address covers that address alone.
    const { statusCode, body: answer } = await request(url, {
      method: 'POST',
      dispatcher,
      signal: AbortSignal.timeout(webhookTimeoutMs),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tollgate',
        ...signatureHeaders(call),
      },
      body,
    });
    const detail = wordsOf(await readText(answer, answerBytesMax));
    const isRedirect = statusCode >= 300 && statusCode < 400;
    const rule = isRedirect ? 'redirected' : 'responded';
    const words = detail === '' ? finding(rule, { status: statusCode }) : finding(`${rule}_with`, { status: statusCode, detail });
    return { isDelivered: statusCode >= 200 && statusCode < 300, isFinal: statusCode === 410, isGone: statusCode === 410, words };
  } catch (error) {
    return { isDelivered: false, isFinal: refusalOf(error) !== undefined, words: faultWords(error) };
  } finally {
    await dispatcher.destroy();
  }
}

interface Fault {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly errors?: readonly unknown[];
  readonly cause?: unknown;
}

function refusalOf(error: unknown): AddressRefused | undefined {
  if (error instanceof AddressRefused) return error;
  const { cause } = (error ?? {}) as Fault;
  return cause === undefined ? undefined : refusalOf(cause);
}

function faultWords(error: unknown): string {
  const { name, code = '', message = '', errors } = (error ?? {}) as Fault;
  // When several addresses of a name were tried, the first failure is reported.
  if (errors !== undefined && errors.length > 0) return faultWords(errors[0]);
  // The address itself is not named: it would reveal details of a network that does not belong to the user.
  if (refusalOf(error) !== undefined) return finding('private_name', {});
  if (name === 'TimeoutError') return finding('no_response', { seconds: webhookTimeoutMs / 1000 });
  if (code === 'ENOTFOUND') return finding('no_such_name', {});
  return wordsOf(finding('not_reached', { detail: `${message}${code === '' || message.includes(code) ? '' : ` (${code})`}` }));
}

function wordsOf(text: string): string {
  // Cut by bytes, so that half a character at the end becomes one that databases accept.
  return Buffer.from(
    text
      .replace(/[\p{C}\s]+/gu, ' ')
      .trim()
      .slice(0, answerBytesMax),
  ).toString();
}
