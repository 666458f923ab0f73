import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#kit/clock.js';
import { createTestAuthority, type TestAuthority } from '#kit/testing/certificates.js';
import { recordingLogger } from '#kit/testing/log.js';
import { CapabilityProbe, TestResult, Upstream, type UpstreamTest, ApiFormat } from '#proto/inference/v1/inference.js';
import { listen } from '#kit/testing/local-server.js';
import { type StubUpstream, startStubUpstream, stubApiKey } from '../../../../tests/upstream/stub-upstream.js';
import { testConfig } from '../../testing/fixtures.js';
import type { HttpUpstreamSettings } from '../http/http-upstream.js';
import type { RemoteWireFormat } from '../remote-format.js';
import { testConnection } from './connection-test.js';
import { operatorText } from './operator-text.js';

const { API_FORMAT_CHAT_COMPLETIONS: chatCompletions, API_FORMAT_MESSAGES: messages, API_FORMAT_RESPONSES: responses } = ApiFormat;
const { log } = recordingLogger('debug');
const deps = { config: testConfig({ connectTimeoutMs: 2000 }), clock: systemClock, log };
const never = new AbortController().signal;

interface Changes extends Partial<HttpUpstreamSettings> {
  readonly format?: RemoteWireFormat;
  readonly model?: string;
  readonly probes?: CapabilityProbe[];
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const credentialOf = (secret: string) => ({ id: 'default', secret, setAtMs: 0 });

function tryIt({
  format = chatCompletions,
  model,
  probes = [],
  timeoutMs = 5000,
  signal = never,
  ...settings
}: Changes): Promise<UpstreamTest> {
  const remote = {
    format,
    settings: {
      id: 'mine',
      baseUrl: '',
      credentials: [credentialOf(stubApiKey)],
      allowPrivateNetwork: true,
      wholeAnswers: false,
      allowedFields: [],
      ...settings,
    },
  };
  const shown = Upstream.fromPartial({ id: 'mine', apiFormat: format });
  return testConnection({ shown, upstream: undefined, remote }, { upstreamModel: model, probes }, signal, deps, timeoutMs);
}

/** Returns the steps in words: "dns ok", "tls failed: …". */
function words({ steps }: UpstreamTest): string[] {
  return steps.map(
    ({ name, result: outcome, detail: what }) =>
      `${name} ${TestResult[outcome].replace('TEST_RESULT_', '').toLowerCase()}${outcome === TestResult.TEST_RESULT_FAILED ? `: ${what}` : ''}`,
  );
}

const found = ({ steps }: UpstreamTest, wanted: string): string => steps.find(({ name }) => name === wanted)!.detail;

describe('a test of an upstream that works', () => {
  let stub: StubUpstream;

  beforeEach(async () => {
    stub = await startStubUpstream();
  });

  afterEach(() => stub.stop());

  it.each([
    ['chat-completions', chatCompletions],
    ['messages', messages],
    ['responses', responses],
  ] as const)('runs all steps for a %s upstream, and calls a model if one is named', async (_name, format) => {
    stub.script('text', { blocks: [{ type: 'text', text: 'Hi' }], usage: { input: 9, output: 1 } });
    const test = await tryIt({ baseUrl: stub.baseUrl, format, model: 'text' });
    expect(words(test)).toEqual(['address ok', 'dns skipped', 'connect ok', 'tls skipped', 'authentication ok', 'models ok', 'call ok']);
    expect(test).toMatchObject({ ok: true, failedStep: '', upstreamModel: 'text' });
    expect(found(test, 'models')).toMatch(/^\d{2,} models$/);
    expect(found(test, 'call')).toMatch(
      /^first token after \d+ ms; the upstream reported 9 input and 1 output; you pay for at most 66 input and 16 output tokens$/,
    );
    const [called] = stub.requests;
    expect(called!.body).toMatchObject({ model: 'text', stream: true });
    expect([called!.body['max_tokens'], called!.body['max_completion_tokens'], called!.body['max_output_tokens']]).toContain(16);
    expect(stub.refused).toEqual([]);
  });

  it('makes no call unless a model is named, and resolves names', async () => {
    const test = await tryIt({ baseUrl: stub.baseUrl.replace('127.0.0.1', 'localhost') });
    expect(words(test)).toEqual(['address ok', 'dns ok', 'connect ok', 'tls skipped', 'authentication ok', 'models ok']);
    expect(found(test, 'dns')).toMatch(/^localhost resolves to .*127\.0\.0\.1/);
    expect(stub.requests).toHaveLength(0);
  });

  it('reports that a wrong secret is refused, in the words of the upstream and without the secret', async () => {
    const secret = 'wrongkey-0123456789-abcdef';
    for (const format of [chatCompletions, messages] as const) {
      const test = await tryIt({ baseUrl: stub.baseUrl, credentials: [credentialOf(secret)], format, model: 'text' });
      expect(words(test).slice(3)).toEqual([
        'tls skipped',
        expect.stringMatching(/^authentication failed: the secret is refused: status 401 .*Incorrect API key provided: \[redacted\]/),
        'models not_run',
        'call not_run',
      ]);
      expect(test).toMatchObject({ ok: false, failedStep: 'authentication' });
      expect(JSON.stringify(test.steps)).not.toContain('wrongk');
    }
    expect(words(await tryIt({ baseUrl: stub.baseUrl, credentials: [] }))[4]).toMatch(
      /^authentication failed: a secret is required, but none is set/,
    );
  });

  it('tries every credential, and names those that fail', async () => {
    stub.script('text', { blocks: [{ type: 'text', text: 'Hi' }], usage: { input: 9, output: 1 } });
    const second = { ...credentialOf(stubApiKey), id: 'second' };
    const both = await tryIt({ baseUrl: stub.baseUrl, credentials: [credentialOf(stubApiKey), second], model: 'text' });
    expect(both.ok).toBe(true);
    expect(found(both, 'authentication')).toMatch(/^with each of 2 credentials: not refused/);
    expect([found(both, 'call'), stub.requests.length]).toEqual([expect.stringMatching(/^with each of 2 credentials: first token/), 2]);
    const bad = { ...credentialOf('wrongkey-0123456789-abcdef'), id: 'third' };
    const test = await tryIt({ baseUrl: stub.baseUrl, credentials: [credentialOf(stubApiKey), bad, second], model: 'text' });
    expect(test.failedStep).toBe('authentication');
    expect(found(test, 'authentication')).toMatch(/^credential third: the secret is refused: status 401 [^;]*$/);
    expect(JSON.stringify(test.steps)).not.toContain('wrongk');
  });

  describe('with the capabilities of a model', () => {
    const [tools, schemas, images, answers, embeddings] = [
      CapabilityProbe.CAPABILITY_PROBE_TOOLS,
      CapabilityProbe.CAPABILITY_PROBE_STRUCTURED_OUTPUT,
      CapabilityProbe.CAPABILITY_PROBE_IMAGES,
      CapabilityProbe.CAPABILITY_PROBE_ANSWERS,
      CapabilityProbe.CAPABILITY_PROBE_EMBEDDINGS,
    ];
    const block = (text: string) => ({ blocks: [{ type: 'text', text } as const], usage: { input: 9, output: 5 } });
    const toolCall = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' } as const;

    it.each([
      ['chat-completions', chatCompletions],
      ['messages', messages],
    ] as const)('makes a call for each at a %s upstream, and says what it found', async (_name, format) => {
      const toCome = [block('Hi'), { blocks: [toolCall] }, block('{"city":"Paris","degrees":21}'), block('Red.'), block('word')];
      stub.script('text', ...toCome);
      const test = await tryIt({ baseUrl: stub.baseUrl, format, model: 'text', probes: [tools, schemas, images, answers] });
      const ofFormat = format === chatCompletions ? ['answers ok'] : [];
      expect(words(test).slice(6)).toEqual(['call ok', 'tools ok', 'structured_output ok', 'images ok', ...ofFormat]);
      expect(found(test, 'tools')).toContain('called get_weather');
      expect(stub.refused).toEqual([]);
    });

    it('reports each that fails, and tests the others', async () => {
      stub.script('text', block('Hi'), block('It is sunny.'), block('21 degrees in Paris'), block('A dog.'));
      const test = await tryIt({ baseUrl: stub.baseUrl, model: 'text', probes: [tools, schemas, images] });
      expect(words(test).slice(6)).toEqual([
        'call ok',
        expect.stringMatching(/^tools failed: the model did not call the tool; it answered "It is sunny\."$/),
        expect.stringMatching(/^structured_output failed: the answer does not follow the schema: "21 degrees in Paris"$/),
        expect.stringMatching(/^images failed: the model did not recognise that the image is red; it answered "A dog\."$/),
      ]);
      expect(test).toMatchObject({ ok: false, failedStep: 'tools' });
    });

    it('skips the step answers if the upstream returns one answer per call', async () => {
      const rejection = {
        kind: 'status',
        status: 400,
        body: { error: { message: 'n must be 1', type: 'invalid_request_error' } },
      } as const;
      stub.script('text', block('Hi'), { ...block('word'), fault: rejection });
      const test = await tryIt({ baseUrl: stub.baseUrl, model: 'text', probes: [answers] });
      expect(words(test).at(-1)).toBe('answers skipped');
      expect(found(test, 'answers')).toMatch(/^the upstream rejects calls for two answers, and callers receive its error: .*n must be 1/);
      expect(test.ok).toBe(true);
    });

    it('reads an answer of as many tokens as it requests, in events of any usual size', async () => {
      stub.script('text', block('Hi'), block('x '.repeat(50_000)));
      const test = await tryIt({ baseUrl: stub.baseUrl, model: 'text', probes: [tools] });
      expect(found(test, 'tools')).toMatch(/^the model did not call the tool; it answered "x x/);
    });

    it('makes no calls after the time limit', async () => {
      stub.script('text', block('Hi'), { ...block('It is sunny.'), fault: { kind: 'slow-headers', delayMs: 60_000 } });
      const test = await tryIt({ baseUrl: stub.baseUrl, model: 'text', probes: [tools, schemas, images], timeoutMs: 2500 });
      expect(words(test).slice(6)).toEqual([
        'call ok',
        'tools failed: no response; the whole test may take at most 2.5 s',
        'structured_output not_run',
        'images not_run',
      ]);
    });

    it.each([
      ['chat-completions', chatCompletions],
      ['responses', ApiFormat.API_FORMAT_RESPONSES],
    ] as const)('calls a model that returns vectors for one, at a %s upstream', async (_name, format) => {
      const test = await tryIt({ baseUrl: stub.baseUrl, format, model: 'vectors', probes: [embeddings] });
      expect(found(test, 'call')).toMatch(
        /^a vector of 3 numbers; the upstream reported 1 input and 0 output; you pay for at most \d+ input tokens$/,
      );
      expect(stub.requests.map(({ path }) => path)).toEqual(['/v1/embeddings']);
    });
  });

  it('reports that its figures are rejected', async () => {
    stub.script('text', { blocks: [{ type: 'text', text: 'Hi' }], usage: { input: 9, output: 500 } });
    const test = await tryIt({ baseUrl: stub.baseUrl, model: 'text' });
    expect(test.ok).toBe(true);
    expect(found(test, 'call')).toContain(
      "the figures of the upstream break a rule (output_above_cap), so calls are charged by Tollgate's own count",
    );
  });

  it('does not read an endless answer', async () => {
    stub.script('text', { blocks: [{ type: 'text', text: 'x'.repeat(200_000) }] });
    const test = await tryIt({ baseUrl: stub.baseUrl, model: 'text' });
    expect(test.failedStep).toBe('call');
    expect(found(test, 'call')).toMatch(/size|large|limit/);
  });

  it('reports what the upstream says to a call', async () => {
    const test = await tryIt({ baseUrl: stub.baseUrl, model: 'status-400' });
    expect(test).toMatchObject({ ok: false, failedStep: 'call' });
    expect(found(test, 'call')).toContain('temperature: this model refuses it');
    expect(found(await tryIt({ baseUrl: stub.baseUrl, model: 'nothing-like-it' }), 'models')).toContain('but not nothing-like-it');
    await expect(tryIt({ baseUrl: stub.baseUrl, model: '' })).rejects.toMatchObject({ reason: 'invalid_request' });
  });
});

describe('a test of an upstream that does not work', () => {
  let server: Server | TcpServer | undefined;
  const sockets = new Set<Socket>();

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    server = undefined;
  });

  async function addressOf(made: Server | TcpServer): Promise<string> {
    server = made;
    made.on('connection', (socket: Socket) => void sockets.add(socket));
    return `127.0.0.1:${await listen(made)}/v1`;
  }
  const serve = async (answer: RequestListener): Promise<string> => `http://${await addressOf(createServer(answer))}`;
  const answering = (status: number, type: string, body: string) =>
    serve((_request, response) => void response.writeHead(status, { 'content-type': type }).end(body));

  it.each([
    ['http://169.254.169.254/v1', true],
    ['http://127.0.0.1/v1', false],
    ['http://[::ffff:10.0.0.1]/v1', false],
  ])('refuses the address %s before anything is sent', async (baseUrl, allowPrivateNetwork) => {
    expect(words(await tryIt({ baseUrl, allowPrivateNetwork }))).toEqual([
      expect.stringMatching(/^address failed: .*(private|link-local)/),
      'dns not_run',
      'connect not_run',
      'tls not_run',
      'authentication not_run',
      'models not_run',
    ]);
  });

  it('refuses a name that resolves to a forbidden address, and does not connect', async () => {
    let connections = 0;
    const baseUrl = (await serve((_request, response) => void response.end())).replace('127.0.0.1', 'localhost');
    server!.on('connection', () => (connections += 1));
    const test = await tryIt({ baseUrl, allowPrivateNetwork: false });
    expect(words(test).slice(0, 3)).toEqual([
      'address ok',
      expect.stringMatching(/^dns failed: localhost: .* is private/),
      'connect not_run',
    ]);
    expect(connections).toBe(0);
  });

  it('reports a name that does not exist', async () => {
    expect(words(await tryIt({ baseUrl: 'http://no-such-host.invalid/v1' }))[1]).toMatch(/^dns failed: .*no-such-host\.invalid/);
  });

  it('reports a port where nothing listens', async () => {
    expect(words(await tryIt({ baseUrl: 'http://127.0.0.1:1/v1' }))[2]).toMatch(/^connect failed: .*ECONNREFUSED/);
  });

  it('ends in time if a server sends nothing, and keeps no connection', async () => {
    const baseUrl = `http://${await addressOf(createTcpServer((socket) => void socket.resume()))}`;
    const test = await tryIt({ baseUrl, timeoutMs: 1500, model: 'text' });
    expect(words(test).slice(4)).toEqual([
      expect.stringMatching(/^authentication failed: no response; the whole test may take at most 1\.5 s/),
      'models not_run',
      'call not_run',
    ]);
    await Promise.all([...sockets].map((socket) => socket.closed || new Promise((resolve) => socket.once('close', resolve))));
  });

  it('ends in time if a body never ends', async () => {
    const baseUrl = await serve(
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":['),
    );
    expect(words(await tryIt({ baseUrl, timeoutMs: 1500 }))[5]).toMatch(/^models failed: no response/);
  });

  it('ends in time if a handshake never ends', async () => {
    const baseUrl = `https://${await addressOf(createTcpServer((socket) => void socket.resume()))}`;
    expect(words(await tryIt({ baseUrl, timeoutMs: 1500 }))[3]).toMatch(/^tls failed: no response/);
  });

  it('is cancelled when the caller disconnects', async () => {
    const baseUrl = `http://${await addressOf(createTcpServer((socket) => void socket.resume()))}`;
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), 100);
    await expect(tryIt({ baseUrl, signal: leaving.signal })).rejects.toMatchObject({ reason: 'cancelled' });
  });

  it('does not follow a redirect, and reports its location', async () => {
    let visits = 0;
    const baseUrl = await serve((_request, response) => {
      visits += 1;
      response.writeHead(308, { location: 'https://elsewhere.example/v1/models' }).end();
    });
    expect(words(await tryIt({ baseUrl }))[4]).toMatch(
      /^authentication failed: status 308: the server redirects to https:\/\/elsewhere\.example\/v1\/models/,
    );
    expect(visits).toBe(1);
  });

  it.each([
    ['a page', 200, 'text/html', '<html><body>Welcome</body></html>', /^models failed: the server returned a web page/],
    ['a page that says it is JSON', 200, 'application/json', '<!doctype html>', /^models failed: the server returned a web page/],
    ['no JSON', 200, 'text/plain', 'hello', /^models failed: the list of models is not JSON: hello/],
    ['another object', 200, 'application/json', '{"status":"ok"}', /^models failed: .*not a list of models/],
    ['a page with an error', 502, 'text/html', '<html>Bad gateway</html>', /^models failed: status 502 : \(no text\)$/],
    [
      'an error',
      500,
      'application/json',
      '{"error":{"message":"out of \\u001b[31mmemory","type":"server_error"}}',
      /^models failed: status 500 server_error: out of \[31mmemory$/,
    ],
    ['nothing at its path', 404, 'application/json', '{}', /^models skipped$/],
    ['a list without an envelope', 200, 'application/json', '[{"id":"a"}]', /^models ok$/],
    ['a list beyond the bound', 200, 'application/json', `{"data":[${'{"id":"a"},'.repeat(10_000)}`, /^models ok$/],
  ])('evaluates a server that answers %s', async (_name, status, type, body, expected) => {
    expect(words(await tryIt({ baseUrl: await answering(status, type, body) }))[5]).toMatch(expected);
  });

  it('never shows the secret, whatever a server does with it', async () => {
    const secret = 'tok_AbCdEf.123456+7890/xyz';
    const baseUrl = await serve((request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ error: { message: `no: ${request.headers.authorization} / ${secret.slice(0, 9)}… /${secret}/`, type: secret } }),
      );
    });
    const test = await tryIt({ baseUrl, credentials: [credentialOf(secret)] });
    expect(found(test, 'authentication')).toContain('[redacted]');
    expect(JSON.stringify(test.steps).toLowerCase()).not.toContain('tok_ab');
  });

  describe('over TLS', () => {
    let authority: TestAuthority;

    beforeAll(() => {
      authority = createTestAuthority();
    });

    afterAll(() => authority.drop());

    const serveTls = async (): Promise<string> => {
      const { key, cert } = authority.issue('vendor');
      return `https://${await addressOf(createTlsServer({ key, cert }, (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"one"}]}')))}`;
    };

    it('reports a certificate that is not trusted', async () => {
      expect(words(await tryIt({ baseUrl: await serveTls() })).slice(3)).toEqual([
        expect.stringMatching(/^tls failed: the certificate is not trusted: .*NODE_EXTRA_CA_CERTS/),
        'authentication not_run',
        'models not_run',
      ]);
    });

    it('shows a trusted certificate, and uses the same connection', async () => {
      const before = getCACertificates('default');
      const { ca } = authority.issue('vendor');
      setDefaultCACertificates([...before, ca.toString()]);
      try {
        let connections = 0;
        const baseUrl = await serveTls();
        server!.on('connection', () => (connections += 1));
        const test = await tryIt({ baseUrl });
        expect(words(test)).toEqual(['address ok', 'dns skipped', 'connect ok', 'tls ok', 'authentication ok', 'models ok']);
        expect(found(test, 'tls')).toMatch(/^TLSv1\.3; certificate of vendor, issued by test authority, [01] days? left$/);
        expect(found(test, 'models')).toBe('1 model');
        expect(connections).toBe(1);
      } finally {
        setDefaultCACertificates(before);
      }
    });

    it('reports a server that does not support it', async () => {
      const baseUrl = (await answering(200, 'application/json', '{}')).replace('http:', 'https:');
      expect(words(await tryIt({ baseUrl }))[3]).toMatch(/^tls failed: the server does not use TLS/);
    });
  });
});

describe('what operators read', () => {
  it('is one short line', () => {
    expect(operatorText(`a\n\tb\u001b]0;x\u0007\u202ec ${'y'.repeat(2000)}`, [])).toMatch(/^a b ]0;x c y{100,400}…$/);
  });

  it('redacts words that begin like the secret, but keeps others', () => {
    expect(operatorText('Incorrect key abcdef*** for abcd', ['abcdef1234567890'])).toBe('Incorrect key [redacted] for abcd');
    expect(operatorText('the key is (hunter2)', ['hunter2'])).toBe('the key is ([redacted])');
  });

  it('redacts no placeholder within other words and addresses', () => {
    expect(operatorText('status 200: the model’s list has 12 models', ['s'])).toBe('status 200: the model’s list has 12 models');
    expect(operatorText('http://ollama:11434/v1 says ollamas', ['ollama'])).toBe('http://ollama:11434/v1 says ollamas');
  });
});
