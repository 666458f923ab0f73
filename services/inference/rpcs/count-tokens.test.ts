import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#kit/clock.js';
import { recordingLogger } from '#kit/testing/log.js';
import { callContext } from '#client/call-context.js';
import { ApiFormat, type CountTokensRequest, OverrideMode } from '#proto/inference/v1/inference.js';
import { type StubUpstream, startStubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import { stubRequest, startStubbed } from '../testing/stubbed.js';
import { localUpstream, startInference, testConfig, type TestInference, textRequest } from '../testing/fixtures.js';
import { type CallsInFlight, callsInFlightMemory, sharedCallsInFlight } from '../upstreams/calls-in-flight.js';
import { createHttpUpstream } from '../upstreams/create-upstream.js';

const operator = callContext({ caller: 'operator' });
const { prompt } = textRequest('Hello world');

let stub: StubUpstream;
let inference: TestInference;

beforeEach(async () => {
  stub = await startStubUpstream();
  inference = await startInference();
  for (const [id, apiFormat, secret] of [
    ['cc', ApiFormat.API_FORMAT_CHAT_COMPLETIONS, stubApiKey],
    ['m', ApiFormat.API_FORMAT_MESSAGES, stubApiKey],
    ['wrong-key', ApiFormat.API_FORMAT_MESSAGES, 'x'],
  ] as const) {
    const upstream = localUpstream(stub.baseUrl, { id, apiFormat });
    await inference.service.putUpstream({ upstream, secret }, operator);
  }
});

afterEach(async () => {
  await inference.stop();
  await stub.stop();
});

const requestFor = (upstreamId: string): CountTokensRequest => ({
  targets: [{ upstreamId, upstreamModel: 'x' }],
  prompt,
  reasoning: undefined,
  messagesVersion: '',
  native: undefined,
  responseFormat: undefined,
});

const count = (upstreamId: string, changes: Partial<CountTokensRequest> = {}) =>
  inference.service.countTokens({ ...requestFor(upstreamId), ...changes }, operator);

describe('counting tokens', () => {
  it("is the vendor's own where it has a count", async () => {
    const sent = JSON.stringify([{ role: 'user', content: [{ type: 'text', text: 'Hello world' }] }]);
    expect(await count('m')).toEqual({ inputTokens: sent.length, estimated: false });
    expect(stub.requests[0]).toMatchObject({
      path: '/v1/messages/count_tokens',
      headers: { 'anthropic-version': '2023-06-01', 'x-api-key': stubApiKey },
    });
    await count('m', { messagesVersion: '2026-10-21' });
    expect(stub.requests[1]!.headers['anthropic-version']).toBe('2026-10-21');
  });

  it("is the vendor's own for everything that a caller of its format wrote", async () => {
    const fieldsJson = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], cache_control: { type: 'ephemeral' } });
    const native = {
      format: ApiFormat.API_FORMAT_MESSAGES,
      fieldsJson,
      messagesBetas: ['token-counting-2024-11-01'],
      otherFieldsJson: '',
      droppedElsewhere: [],
      refusedElsewhere: [],
      vendorTools: [],
    };
    expect(await count('m', { native })).toEqual({ inputTokens: '[{"role":"user","content":"Hello"}]'.length, estimated: false });
    expect(stub.requests[0]!.body).toEqual({ model: 'x', ...(JSON.parse(fieldsJson) as object) });
    expect(stub.requests[0]!.headers['anthropic-beta']).toBe('token-counting-2024-11-01');
  });

  it('uses the first target that can honour the request, and is refused if none can', async () => {
    const native = {
      format: ApiFormat.API_FORMAT_MESSAGES,
      fieldsJson: '{"messages":[{"role":"user","content":"Hello"}]}',
      messagesBetas: [],
      otherFieldsJson: '',
      droppedElsewhere: [],
      refusedElsewhere: [{ field: 'tools.0', text: 'only there' }],
      vendorTools: [],
    };
    const targets = ['cc', 'm'].map((upstreamId) => ({ upstreamId, upstreamModel: 'x' }));
    expect((await count('cc', { native, targets })).estimated).toBe(false);
    await expect(count('cc', { native })).rejects.toMatchObject({ reason: 'unsupported_field', details: { field: 'tools.0' } });
  });

  it('uses no target and no credential that the operator drained', async () => {
    const drain = (credentialId: string) => {
      const mode = OverrideMode.OVERRIDE_MODE_DRAIN;
      return inference.service.overrideTarget({ upstreamId: 'm', upstreamModel: 'x', credentialId, mode, ejectForMs: 0 }, operator);
    };
    await inference.service.putCredential({ upstreamId: 'm', credentialId: 'second', secret: 'second-secret' }, operator);
    await drain('default');
    await count('m');
    expect(stub.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['second-secret']);
    await drain('');
    await expect(count('m')).rejects.toMatchObject({ reason: 'model_unavailable' });
    expect(await count('m', { targets: ['m', 'cc'].map((upstreamId) => ({ upstreamId, upstreamModel: 'x' })) })).toMatchObject({
      estimated: true,
    });
    expect(stub.requests).toHaveLength(1);
  });

  it('is an estimate if the vendor has none or fails', async () => {
    expect(await count('cc')).toEqual({ inputTokens: 6, estimated: true });
    expect(await count('wrong-key')).toEqual({ inputTokens: 6, estimated: true });
    expect(inference.lines.some((line) => line['upstream'] === 'wrong-key')).toBe(true);
  });

  it('is an estimate while the maximum number of calls is in flight', async () => {
    const busy = await startStubbed({ connectionsMax: 1 });
    const call = busy.inference.service.generate(stubRequest('stall', 'm'), operator)[Symbol.asyncIterator]();
    await call.next();
    expect(await busy.inference.service.countTokens(requestFor('m'), operator)).toEqual({ inputTokens: 6, estimated: true });
    await call.return?.(undefined);
    await busy.stop();
  });

  it('is an estimate if another thread takes the last place at the same moment', async () => {
    const memory = callsInFlightMemory(2);
    const [own, other] = [1, 2].map((thread) => sharedCallsInFlight(memory, thread)) as [CallsInFlight, CallsInFlight];
    const callsInFlight: CallsInFlight = {
      of: (id) => own.of(id),
      count(id, by) {
        if (by === 1) other.count(id, 1);
        own.count(id, by);
      },
    };
    const settings = {
      id: 'm',
      baseUrl: stub.baseUrl,
      credentials: [{ id: 'default', secret: stubApiKey, setAtMs: 0 }],
      allowPrivateNetwork: true,
      wholeAnswers: false,
      limits: { callsMax: 1 },
      allowedFields: [],
    };
    const { log } = recordingLogger();
    const deps = { config: testConfig(), clock: systemClock, log, callsInFlight };
    const upstream = createHttpUpstream(ApiFormat.API_FORMAT_MESSAGES, settings, deps);
    const target = { upstreamId: 'm', upstreamModel: 'x' };
    const attempt = { target, signal: new AbortController().signal, traceHeaders: {} };
    expect(await upstream.countTokens(requestFor('m'), attempt)).toEqual({ inputTokens: 6, estimated: true });
    expect(own.of('m')).toBe(1);
    await upstream.close();
  });

  it.each([
    ['targets', { targets: [] }],
    ['prompt', { prompt: undefined }],
    ['messages_version', { messagesVersion: 'latest' }],
    ['reasoning.effort', { reasoning: { effort: 'enormous', disabled: false } }],
  ])('is refused with an invalid %s', async (field, changes) => {
    await expect(count('cc', changes)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
  });
});
