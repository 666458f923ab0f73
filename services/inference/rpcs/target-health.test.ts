// The health of targets as operators see it, and their overrides.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#kit/testing/waiting.js';
import { EjectionCause, OverrideMode, type Started, TargetChoice, TargetState } from '#proto/inference/v1/inference.js';
import { type StubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import { collect, eventsOf, type TestInference, textRequest } from '../testing/fixtures.js';
import { operator, startStubbed } from '../testing/stubbed.js';

let stub: StubUpstream;
let inference: TestInference;
let stop: () => Promise<void>;

beforeEach(async () => {
  ({ stub, inference, stop } = await startStubbed({ failuresMax: 2, failureCallsMin: 4 }));
  stub.script('sick', { fault: { kind: 'status', status: 500, body: {} } });
});

afterEach(() => stop());

const targets = [
  { upstreamId: 'cc', upstreamModel: 'sick' },
  { upstreamId: 'm', upstreamModel: 'text' },
];
const sick = { upstreamId: 'cc', upstreamModel: 'sick', credentialId: '', ejectForMs: 0 };

/** Makes a call. Returns the models that were called. */
async function call(): Promise<unknown[]> {
  const before = stub.requests.length;
  await collect(inference.service, textRequest('Hi', { targets }));
  return stub.requests.slice(before).map(({ body }) => body['model']);
}

const health = (withAvailable?: boolean) => inference.service.listTargetHealth({ withAvailable }, operator);

describe('the health of targets', () => {
  it('is listed while a target is ejected', async () => {
    expect(await health()).toEqual({ targets: [], overrides: [] });
    expect([await call(), await call(), await call()]).toEqual([['sick', 'text'], ['sick', 'text'], ['text']]);
    const listed = await eventually(async () => {
      const found = (await health()).targets;
      return found.length > 0 ? found : undefined;
    });
    expect(listed).toEqual([
      expect.objectContaining({ ...targets[0], state: TargetState.TARGET_STATE_EJECTED, failures: 2, reason: 'upstream_failed' }),
    ]);
    await inference.service.overrideTarget({ ...sick, mode: OverrideMode.OVERRIDE_MODE_RETURN }, operator);
    expect(await call()).toEqual(['sick', 'text']);
    await eventually(async () => ((await health()).targets.length === 0 ? true : undefined));
  });

  it('is listed while the only target of a model fails, which is not ejected', async () => {
    const alone = { targets: targets.slice(0, 1) };
    const fail = async () => {
      await collect(inference.service, textRequest('Hi', alone)).catch(() => undefined);
    };
    await fail();
    const [listed] = await eventually(async () => {
      const found = (await health()).targets;
      return found.length > 0 ? found : undefined;
    });
    const failing = { state: TargetState.TARGET_STATE_FAILING, reason: 'upstream_failed', untilMs: 0n };
    expect(listed).toMatchObject({ ...targets[0], ...failing });
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    await collect(inference.service, textRequest('Hi', alone));
    await eventually(async () => ((await health()).targets.length === 0 ? true : undefined));
  });

  it('is forgotten with its upstream, and so are the overrides', async () => {
    const { upstreams } = await inference.service.listUpstreams({}, operator);
    expect([await call(), await call(), await call()]).toEqual([['sick', 'text'], ['sick', 'text'], ['text']]);
    await eventually(async () => ((await health()).targets.length > 0 ? true : undefined));
    await inference.service.overrideTarget({ ...sick, upstreamModel: 'drained', mode: OverrideMode.OVERRIDE_MODE_DRAIN }, operator);
    await inference.service.deleteUpstream({ upstreamId: 'cc' }, operator);
    expect((await health()).overrides).toEqual([]);
    await eventually(async () => ((await health()).targets.length === 0 ? true : undefined));
    await inference.service.putUpstream({ upstream: upstreams.find(({ id }) => id === 'cc'), secret: stubApiKey }, operator);
    expect(await call()).toEqual(['sick', 'text']);
    const drained = { targets: [{ upstreamId: 'cc', upstreamModel: 'drained' }] };
    expect(eventsOf(await collect(inference.service, textRequest('Hi', drained))).at(-1)?.$case).toBe('finished');
  });

  it('excludes a rate-limited target, even if its vendor says that it may be called again immediately', async () => {
    stub.script('sick', { fault: { kind: 'status', status: 429, body: {}, headers: { 'retry-after': '0' } } });
    expect([await call(), await call()]).toEqual([['sick', 'text'], ['text']]);
  });

  it('is listed with its cause while a target is ejected for answers that begin late', async () => {
    const { upstreams } = await inference.service.listUpstreams({}, operator);
    const upstream = { ...upstreams.find(({ id }) => id === 'cc')!, limits: { slowFirstTokenMs: 10 } };
    await inference.service.putUpstream({ upstream }, operator);
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }], fault: { kind: 'slow-headers', delayMs: 30 } });
    for (let count = 0; count < 4; count += 1) expect(await call()).toEqual(['sick']);
    expect(await call()).toEqual(['text']);
    const [listed] = await eventually(async () => {
      const found = (await health()).targets;
      return found.length > 0 ? found : undefined;
    });
    expect(listed).toMatchObject({ ...targets[0], cause: EjectionCause.EJECTION_CAUSE_SLOW_FIRST_TOKENS, failures: 0 });
  });

  it('is that of a credential alone if the vendor rejects it: calls succeed with the others', async () => {
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    const { upstream } = await inference.service.putCredential(
      { upstreamId: 'cc', credentialId: 'revoked', secret: 'sk-of-nobody' },
      operator,
    );
    expect(upstream!.credentials.map(({ id }) => id)).toEqual(['default', 'revoked']);
    const one = { targets: [{ upstreamId: 'cc', upstreamModel: 'sick' }] };
    for (let count = 0; count < 20; count += 1) await collect(inference.service, textRequest('Hi', one));
    expect(stub.requests.filter(({ headers }) => headers.authorization === 'Bearer sk-of-nobody')).toHaveLength(1);
    const [listed] = await eventually(async () => {
      const found = (await health()).targets;
      return found.length > 0 ? found : undefined;
    });
    const rejected = { state: TargetState.TARGET_STATE_EJECTED, cause: EjectionCause.EJECTION_CAUSE_CREDENTIAL_REJECTED, failures: 1 };
    expect(listed).toMatchObject({ ...one.targets[0], credentialId: 'revoked', ...rejected });
    await inference.service.deleteCredential({ upstreamId: 'cc', credentialId: 'revoked' }, operator);
    await expect(inference.service.deleteCredential({ upstreamId: 'cc', credentialId: 'revoked' }, operator)).rejects.toMatchObject({
      reason: 'not_found',
    });
  });

  it('follows the operator for a single credential, including one that no call has used yet', async () => {
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    await inference.service.putCredential({ upstreamId: 'cc', credentialId: 'second', secret: stubApiKey }, operator);
    const override = (credentialId: string, mode: OverrideMode, ejectForMs = 0) =>
      inference.service.overrideTarget({ ...sick, credentialId, mode, ejectForMs }, operator);
    const used = async (): Promise<string[]> => {
      const names = new Set<string>();
      for (let count = 0; count < 12; count += 1) {
        const events = eventsOf(await collect(inference.service, textRequest('Hi', { targets })));
        const started = events.find(({ $case }) => $case === 'started')!.value as Started;
        names.add(started.target!.upstreamId === 'cc' ? (started.credentialId ?? '') : 'the other target');
      }
      return [...names].toSorted();
    };
    await override('second', OverrideMode.OVERRIDE_MODE_DRAIN);
    expect(await used()).toEqual(['default']);
    expect((await health()).overrides).toMatchObject([{ credentialId: 'second', mode: OverrideMode.OVERRIDE_MODE_DRAIN }]);
    await override('default', OverrideMode.OVERRIDE_MODE_EJECT, 60_000);
    // The drained one gets no calls, and the ejected one only if nothing else is left.
    expect(await used()).toEqual(['the other target']);
    await override('default', OverrideMode.OVERRIDE_MODE_DRAIN);
    expect(await used()).toEqual(['the other target']);
    await override('default', OverrideMode.OVERRIDE_MODE_RETURN);
    expect(await used()).toEqual(['default']);
    // A new secret does not return it to service, and returning the target does.
    await inference.service.putCredential({ upstreamId: 'cc', credentialId: 'second', secret: stubApiKey }, operator);
    expect(await used()).toEqual(['default']);
    await override('', OverrideMode.OVERRIDE_MODE_RETURN);
    expect(await used()).toEqual(['default', 'second']);
    expect((await health()).overrides.filter(({ mode }) => mode === OverrideMode.OVERRIDE_MODE_DRAIN)).toEqual([]);
    await expect(override('third', OverrideMode.OVERRIDE_MODE_DRAIN)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(
      inference.service.overrideTarget(
        { upstreamId: 'm', upstreamModel: 'text', credentialId: 'default', mode: OverrideMode.OVERRIDE_MODE_DRAIN, ejectForMs: 0 },
        operator,
      ),
    ).rejects.toMatchObject({ details: { field: 'credential_id' } });
  });

  it('follows the operator for a credential that is the only one left: a drained one gets no calls until it is returned', async () => {
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    const second = { upstreamId: 'cc', credentialId: 'second' };
    await inference.service.putCredential({ ...second, secret: stubApiKey }, operator);
    const override = (mode: OverrideMode) => inference.service.overrideTarget({ ...sick, credentialId: 'default', mode }, operator);
    await override(OverrideMode.OVERRIDE_MODE_DRAIN);
    await inference.service.deleteCredential(second, operator);
    expect(await call()).toEqual(['text']);
    await expect(override(OverrideMode.OVERRIDE_MODE_DRAIN)).rejects.toMatchObject({
      details: { field: 'credential_id', rule: 'single_credential' },
    });
    await override(OverrideMode.OVERRIDE_MODE_RETURN);
    expect(await call()).toEqual(['sick']);
  });

  it('does not follow an override of a removed credential for a new one with its name', async () => {
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    const second = { upstreamId: 'cc', credentialId: 'second' };
    await inference.service.putCredential({ ...second, secret: stubApiKey }, operator);
    await inference.service.overrideTarget({ ...sick, credentialId: 'second', mode: OverrideMode.OVERRIDE_MODE_DRAIN }, operator);
    await call();
    await inference.service.deleteCredential(second, operator);
    expect((await health()).overrides).toEqual([]);
    await inference.service.putCredential({ ...second, secret: 'sk-of-nobody' }, operator);
    for (let count = 0; count < 20; count += 1) await call();
    expect(stub.requests.filter(({ headers }) => headers.authorization === 'Bearer sk-of-nobody')).toHaveLength(1);
  });

  it('keeps the calls of a conversation at one target while it is available, and at one credential', async () => {
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    for (const credentialId of ['b', 'c', 'd'])
      await inference.service.putCredential({ upstreamId: 'cc', credentialId, secret: stubApiKey }, operator);
    const both = targets.map((target) => ({ ...target, priority: 0 }));
    const route = async (text: string, hasAffinity = true) => {
      const request = textRequest(text, { targets: both, affinityScope: hasAffinity ? 'acct_1' : undefined, inputTokensMax: 5000 });
      const started = eventsOf(await collect(inference.service, request)).find(({ $case }) => $case === 'started')!.value as Started;
      return [started.target!.upstreamId, started.credentialId, started.choice];
    };
    const used = new Set<unknown>();
    for (let conversation = 0; conversation < 12; conversation += 1) {
      const first = await route(`Conversation ${conversation}`);
      expect(await route(`Conversation ${conversation}`)).toEqual(first);
      expect(first[2]).toBe(TargetChoice.TARGET_CHOICE_PREFIX);
      used.add(first.slice(0, 2).join(' '));
    }
    expect(used.size).toBeGreaterThan(2);
    const one = await route('Conversation 1');
    const upstreamModel = targets.find(({ upstreamId }) => upstreamId === one[0])!.upstreamModel;
    await inference.service.overrideTarget(
      { upstreamId: String(one[0]), upstreamModel, credentialId: '', mode: OverrideMode.OVERRIDE_MODE_EJECT, ejectForMs: 60_000 },
      operator,
    );
    expect((await route('Conversation 1'))[0]).not.toBe(one[0]);
    expect((await route('Conversation 1', false))[2]).toBeUndefined();
  });

  it('is listed with the recent calls and their latency while an operator watches', async () => {
    for (let count = 0; count < 3; count += 1) await collect(inference.service, textRequest('Hi', { targets: targets.slice(1) }));
    const listed = await eventually(async () => {
      const found = (await health(true)).targets;
      return found.length > 0 ? found : undefined;
    });
    expect(listed).toEqual([
      expect.objectContaining({ ...targets[1], state: TargetState.TARGET_STATE_AVAILABLE, recentCalls: 3, recentFailures: 0, untilMs: 0n }),
    ]);
    expect(listed[0]!.latencyMs).toBeGreaterThanOrEqual(0);
    expect(await health()).toEqual({ targets: [], overrides: [] });
  });

  it('is learned from a probe where the upstream has one: the trial is due as soon as its server works', async () => {
    const { upstreams } = await inference.service.listUpstreams({}, operator);
    const upstream = { ...upstreams.find(({ id }) => id === 'cc')!, limits: { probeIntervalMs: 1000 } };
    await inference.service.putUpstream({ upstream }, operator);
    expect([await call(), await call(), await call()]).toEqual([['sick', 'text'], ['sick', 'text'], ['text']]);
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    await eventually(async () => ((await call())[0] === 'sick' ? true : undefined));
  });

  it('is overridden by the operator: a drained target gets no calls, not even as the last one', async () => {
    await inference.service.overrideTarget({ ...sick, mode: OverrideMode.OVERRIDE_MODE_DRAIN }, operator);
    expect(await call()).toEqual(['text']);
    expect((await health()).overrides).toEqual([expect.objectContaining({ ...targets[0], mode: OverrideMode.OVERRIDE_MODE_DRAIN })]);
    await inference.service.overrideTarget(
      { upstreamId: 'm', upstreamModel: 'text', credentialId: '', mode: OverrideMode.OVERRIDE_MODE_DRAIN, ejectForMs: 0 },
      operator,
    );
    await expect(call()).rejects.toMatchObject({ reason: 'model_unavailable' });
  });

  it('is overridden by the operator: an ejected target is called only as the last one', async () => {
    stub.script('sick', { blocks: [{ type: 'text', text: 'Hello.' }] });
    await inference.service.overrideTarget({ ...sick, mode: OverrideMode.OVERRIDE_MODE_EJECT, ejectForMs: 60_000 }, operator);
    expect(await call()).toEqual(['text']);
    const messages = await collect(inference.service, textRequest('Hi', { targets: targets.slice(0, 1) }));
    expect(eventsOf(messages).at(-1)?.$case).toBe('finished');
  });

  it.each([
    [{ ...sick, mode: OverrideMode.OVERRIDE_MODE_EJECT }, 'invalid_request'],
    [{ ...sick, mode: OverrideMode.OVERRIDE_MODE_UNSPECIFIED }, 'invalid_request'],
    [{ ...sick, upstreamModel: '', mode: OverrideMode.OVERRIDE_MODE_DRAIN }, 'invalid_request'],
    [{ ...sick, upstreamId: 'nobody', mode: OverrideMode.OVERRIDE_MODE_DRAIN }, 'not_found'],
  ])('cannot be overridden by %p', async (request, reason) => {
    await expect(inference.service.overrideTarget(request, operator)).rejects.toMatchObject({ reason });
  });
});
