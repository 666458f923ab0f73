// How callers see failures through their libraries: the right class of error, retries only where they can help, and no charge after a disconnect.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createKey, settled, sumOfCharges } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import type { Fault, Script } from '../upstream/script.js';
import { expectNoneRefused } from '../upstream/expect-none-refused.js';
import { ask, type Caller, callers, type Question } from './callers.js';
import { type Stage, startStage, type Upstream, upstreams } from './stage.js';

let stage: Stage;
let penniless: string;

beforeAll(async () => {
  stage = await startStage('single', { TOLLGATE_GATEWAY_BODY_BYTES_MAX: '65536', TOLLGATE_GATEWAY_READ_ON_TIME: '200ms' });
  const { id } = await stage.system.json<{ id: string }>('account', 'create', 'penniless');
  penniless = (await createKey(stage.system, 'penniless', '--account', id)).secret;
});

afterEach(() => expectNoneRefused(stage.stub));
afterAll(() => stage?.stop());

const question = (upstream: Upstream, fields: Partial<Question> = {}): Question => ({
  baseUrl: stage.system.baseUrl,
  apiKey: stage.system.firstKey,
  model: stage.model(upstream),
  streamed: false,
  maxRetries: 2,
  ...fields,
});

/** The details of an error that a library exposes. */
function fieldsOf(error: unknown): { class: string; status: number | undefined; type: unknown; message: string } {
  // The AI SDK wraps the errors of failed retries.
  const failure = ((error as { lastError?: unknown }).lastError ?? error) as Error & {
    status?: number;
    statusCode?: number;
    type?: string;
    error?: { error?: { type?: string } };
  };
  const { status, statusCode, type } = failure;
  return { class: failure.constructor.name, status: status ?? statusCode, type, message: failure.message };
}

/** The class that each library has for a status, by the name of the library; AI SDK: always the same. */
type Classes = Readonly<Record<'openai' | 'anthropic 1' | 'anthropic 0', string>>;

function classOf(caller: Caller, classes: Classes): string {
  if (caller.name.startsWith('@ai-sdk')) return 'APICallError';
  if (caller.name.startsWith('openai')) return classes.openai;
  return classes[caller.name.endsWith('1') ? 'anthropic 1' : 'anthropic 0'];
}

const all = (name: string): Classes => ({ openai: name, 'anthropic 1': name, 'anthropic 0': name });
const fault = (status: number, type: string, headers: Record<string, string> = {}): Script => ({
  fault: {
    kind: 'status',
    status,
    body: { type: 'error', error: { type, message: 'Told by the vendor.', param: null, code: null } },
    headers,
  },
});

/** The request and the behaviour of the upstream; the expected status in each format, the class of the error, and the number of attempts. */
const refusals: readonly {
  name: string;
  fields?: () => Partial<Question>;
  script?: Script;
  statuses: [number, number];
  classes: Classes;
  attempts: number;
}[] = [
  {
    name: 'a request that the vendor refuses',
    script: fault(400, 'invalid_request_error'),
    statuses: [400, 400],
    classes: all('BadRequestError'),
    attempts: 1,
  },
  {
    name: 'a wrong key',
    fields: () => ({ apiKey: 'sk-tg-wrong' }),
    statuses: [401, 401],
    classes: all('AuthenticationError'),
    attempts: 1,
  },
  {
    name: 'an empty balance',
    fields: () => ({ apiKey: penniless }),
    statuses: [402, 402],
    classes: { openai: 'APIError', 'anthropic 1': 'PaymentRequiredError', 'anthropic 0': 'APIError' },
    attempts: 1,
  },
  { name: 'an unknown model', fields: () => ({ model: 'no/such' }), statuses: [404, 404], classes: all('NotFoundError'), attempts: 1 },
  {
    name: 'a body that is too large',
    fields: () => ({ prompt: 'x'.repeat(70_000) }),
    statuses: [413, 413],
    classes: { openai: 'APIError', 'anthropic 1': 'ContentTooLargeError', 'anthropic 0': 'APIError' },
    attempts: 1,
  },
  {
    name: 'a rate limit, after as long as it says',
    script: fault(429, 'rate_limit_error', { 'retry-after': '1' }),
    statuses: [429, 429],
    classes: all('RateLimitError'),
    attempts: 3,
  },
  {
    name: 'an overloaded vendor',
    script: fault(529, 'overloaded_error', { 'retry-after': '1' }),
    statuses: [503, 529],
    classes: { openai: 'InternalServerError', 'anthropic 1': 'OverloadedError', 'anthropic 0': 'InternalServerError' },
    attempts: 3,
  },
  {
    name: 'a vendor that refuses our own key',
    script: fault(401, 'authentication_error'),
    statuses: [503, 529],
    classes: { openai: 'InternalServerError', 'anthropic 1': 'OverloadedError', 'anthropic 0': 'InternalServerError' },
    attempts: 3,
  },
];

const cases = upstreams.flatMap((upstream) => callers.map((caller) => ({ upstream, caller })));

describe('the libraries raise their own error, and retry only where it can help, on', () => {
  it.each(refusals)('$name', async ({ fields, script, statuses, classes, attempts }) => {
    for (const upstream of upstreams) stage.play(upstream, script ?? {});
    const seen = await Promise.all(
      cases.map(async ({ upstream, caller }) => {
        const answer = await ask(caller, question(upstream, fields?.()));
        const { class: name, status } = fieldsOf(answer.error);
        return { caller: caller.name, upstream, class: name, status, attempts: answer.attempts.map((attempt) => attempt.status) };
      }),
    );
    expect(seen).toEqual(
      cases.map(({ upstream, caller }) => {
        const status = statuses[caller.format === 'messages' ? 1 : 0];
        return { caller: caller.name, upstream, class: classOf(caller, classes), status, attempts: Array<number>(attempts).fill(status) };
      }),
    );
  });

  it('a rate limit, no sooner than Retry-After', async () => {
    const gaps = await Promise.all(
      cases.map(async ({ upstream, caller }) => {
        stage.play(upstream, fault(429, 'rate_limit_error', { 'retry-after': '2' }));
        const { attempts } = await ask(caller, question(upstream, { maxRetries: 1 }));
        return attempts[1]!.atMs - attempts[0]!.atMs;
      }),
    );
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(1990);
  });
});

const story = { type: 'text', text: 'It was a bright cold day in April, and the clocks were striking thirteen. '.repeat(5) } as const;

const breaks: readonly [string, Fault][] = [
  [
    'an error frame',
    { kind: 'error-frame', afterFrames: 12, error: { type: 'overloaded_error', message: 'Overloaded', param: null, code: null } },
  ],
  ['an end of the body', { kind: 'cut', afterBytes: 3000 }],
  ['a reset', { kind: 'reset', afterBytes: 3000 }],
  ['a frame that is no JSON', { kind: 'malformed-json', afterFrames: 12 }],
];

describe('a stream that breaks off by', () => {
  it.each(breaks)('%s is an error in every library, after the text that arrived, and is not retried', async (_name, how) => {
    for (const upstream of upstreams) stage.play(upstream, { blocks: [story], fault: how });
    await Promise.all(
      cases.map(async ({ upstream, caller }) => {
        let text = '';
        const { error, attempts } = await ask(caller, question(upstream, { streamed: true, onText: (all) => (text = all) }));
        expect(error).toBeInstanceOf(Error);
        expect(fieldsOf(error).message).not.toBe('');
        expect(story.text.startsWith(text)).toBe(true);
        expect(text.length).toBeGreaterThan(8);
        expect(text.length).toBeLessThan(story.text.length);
        expect(attempts.map(({ status }) => status)).toEqual([200]);
        if (!caller.name.startsWith('@ai-sdk'))
          expect(fieldsOf(error)).toMatchObject({ class: 'APIError', status: undefined, type: expect.any(String) });
        expect(await stage.charge(attempts[0]!.requestId)).toMatchObject({ outcome: 'upstream_error_after_output' });
      }),
    );
  });
});

describe('a caller that disconnects', () => {
  it.each(['streamed', 'whole'] as const)('cancels the upstream and is charged once, %s', async (how) => {
    const requests = upstreams.map((upstream) => stage.play(upstream, { blocks: [story], fault: { kind: 'stall', afterFrames: 12 } }));
    const asked = () => requests.flatMap((list) => list());
    const { secret, id } = await createKey(stage.system, `leaving ${how}`, '--account', stage.accountId);
    // A library shows nothing of a whole answer that is not complete.
    const isTimeToLeave =
      how === 'whole' ? eventually(() => (asked().length === cases.length ? true : undefined), 60_000).catch(() => undefined) : undefined;
    await Promise.all(
      cases.map(async ({ upstream, caller }) => {
        const leaving = new AbortController();
        const leave = (): void => leaving.abort();
        void isTimeToLeave?.then(leave);
        const { text } = await ask(
          caller,
          question(upstream, { apiKey: secret, streamed: how === 'streamed', signal: leaving.signal, onText: leave }),
        );
        expect(text ?? '').not.toBe(story.text);
      }),
    );
    expect(asked()).toHaveLength(cases.length);
    expect(await Promise.all(asked().map(({ clientLeft }) => clientLeft))).not.toContain(false);
    const { rows } = await settled(stage.system, stage.accountId);
    expect(rows.filter((row) => row.key_id === id).map((row) => row.outcome)).toEqual(Array(cases.length).fill('client_disconnected'));
  });
});

it('leaves correct books', async () => {
  const { rows, balance } = await settled(stage.system, stage.accountId);
  expect(sumOfCharges(rows)).toBe(BigInt(balance.spent_nano_usd));
  expect(await stage.system.json('balance', 'verify')).toMatchObject({ ok: true });
});
