// Posts a message to a webhook: signed, to permitted addresses only, never onward, and never for long.
import { Agent, request } from 'undici';
import { AddressRefused, guardedConnector } from '#kit/net/address-guard.js';
import { readText } from '#kit/net/read-text.js';
import { signatureHeader, signatureOf } from './signature.js';

/** Longest time that one try takes, all steps together. */
export const webhookTimeoutMs = 10_000;
const connectTimeoutMs = 5000;
const headerBytesMax = 16_384;
/** Of the answer's body, which only says to people what went wrong. */
const answerBytesMax = 1024;
const answerCharsMax = 200;

/** What came of a try. */
export interface Tried {
  readonly isDelivered: boolean;
  /** Another try would end the same way. */
  readonly isFinal: boolean;
  /** What the peer said, or why it was not reached. */
  readonly words: string;
}

/** A request to a webhook. */
export interface WebhookCall {
  readonly url: string;
  readonly body: string;
  readonly secret: string;
  /** Names the message, the same in every try. */
  readonly deliveryId: string;
  readonly nowMs: number;
}

/** Posts it; never raises. Anything but a status from 200 to 299 is a failure, 410 (Gone) a final one. */
export async function postWebhook({ url, body, secret, deliveryId, nowMs }: WebhookCall, allowPrivateNetwork: boolean): Promise<Tried> {
  const dispatcher = new Agent({
    connect: guardedConnector({ allowPrivateNetwork, timeoutMs: connectTimeoutMs }),
    maxHeaderSize: headerBytesMax,
  });
  try {
    // Redirects are not followed: whoever may choose an address chooses this one alone.
    const { statusCode, body: answer } = await request(url, {
      method: 'POST',
      dispatcher,
      signal: AbortSignal.timeout(webhookTimeoutMs),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tollgate',
        'tollgate-delivery': deliveryId,
        [signatureHeader]: signatureOf(body, secret, nowMs),
      },
      body,
    });
    const said = wordsOf(await readText(answer, answerBytesMax));
    const isRedirect = statusCode >= 300 && statusCode < 400;
    const words = `status ${statusCode}${isRedirect ? ', a redirect, which is not followed' : ''}${said === '' ? '' : `: ${said}`}`;
    return { isDelivered: statusCode >= 200 && statusCode < 300, isFinal: statusCode === 410, words };
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
  // When several addresses of a name were tried, the first failure speaks for all.
  if (errors !== undefined && errors.length > 0) return faultWords(errors[0]);
  // Which address it was would tell who asks about a network that is not theirs.
  if (refusalOf(error) !== undefined) return 'the name leads to an address that is private or reserved, which is not connected to';
  if (name === 'TimeoutError') return `no answer within ${webhookTimeoutMs / 1000} s`;
  if (code === 'ENOTFOUND') return 'there is no such name (ENOTFOUND)';
  return wordsOf(`not reached: ${message}${code === '' || message.includes(code) ? '' : ` (${code})`}`);
}

function wordsOf(text: string): string {
  // By way of bytes, so that half a character at the cut becomes one that databases take.
  return Buffer.from(
    text
      .replace(/[\p{C}\s]+/gu, ' ')
      .trim()
      .slice(0, answerCharsMax),
  ).toString();
}
