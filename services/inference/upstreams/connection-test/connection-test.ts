// Tests an upstream step by step, so that the operator sees which part of the path to it is broken.
import type { Client } from 'undici';
import type { Clock } from '#kit/clock.js';
import { abortError, AppError } from '#client/errors/app-error.js';
import { CapabilityProbe, TestResult, type TestUpstreamRequest, type UpstreamTest } from '#proto/inference/v1/inference.js';
import { localCallsInFlight } from '../calls-in-flight.js';
import { createHttpUpstream, wireOf } from '../create-upstream.js';
import { guardedConnector } from '#kit/net/address-guard.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { parseBaseUrl } from '../http/base-url.js';
import type { HttpUpstreamDeps } from '../http/http-upstream.js';
import type { KnownUpstream, RemoteUpstream } from '../managed.js';
import type { Upstream } from '../upstream.js';
import { callOver, Watchdog } from '../watchdog.js';
import { connectTcp, lookUp, secure } from './dial.js';
import { authenticate, clientOver, type ListResponse, type ListRequest, readModels, testBodyBytesMax } from './model-list.js';
import { probeSteps } from './probes.js';
import { operatorText } from './operator-text.js';
import { type Found, StepLog, stepNames, TestOver, withEach } from './step-log.js';
import { trialCalls, trialRequest } from './trial-call.js';

type TestDeps = Omit<HttpUpstreamDeps, 'callsInFlight'>;

/** Time limit of a test, all steps together, in milliseconds. */
const testTimeoutMs = 15_000;
/** What each capability probe adds to it, in milliseconds. */
const probeTimeoutMs = 10_000;

const stepsOfAll = stepNames.slice(0, stepNames.indexOf('call'));

/** Tests an upstream. Raises invalid_request for a malformed model name, and `cancelled` when `parent` ends it; failures of the upstream are in the result. */
export async function testConnection(
  known: KnownUpstream,
  { upstreamModel, probes }: Pick<TestUpstreamRequest, 'upstreamModel' | 'probes'>,
  parent: AbortSignal,
  deps: TestDeps,
  timeoutMs = testTimeoutMs + probes.length * probeTimeoutMs,
): Promise<UpstreamTest> {
  const { remote, shown } = known;
  const embeds = probes.includes(CapabilityProbe.CAPABILITY_PROBE_EMBEDDINGS);
  const request = upstreamModel === undefined ? undefined : trialRequest(shown.id, upstreamModel, !shown.wholeAnswers, embeds);
  const capabilities = request === undefined ? [] : probeSteps(probes, shown.apiFormat);
  const names = [...stepsOfAll, ...(request === undefined ? [] : (['call'] as const)), ...capabilities.map(({ step }) => step)];
  const atMs = BigInt(deps.clock.nowMs());
  const watchdog = new Watchdog(parent);
  const { signal } = watchdog;
  const timer = setTimeout(
    () => watchdog.end(new AppError('upstream_timeout', finding('test_timeout', { seconds: timeoutMs / 1000 }))),
    timeoutMs,
  );
  const secrets = (remote?.settings.credentials ?? []).map(({ secret }) => secret);
  const log = new StepLog(deps.clock, signal, (text) => operatorText(text, secrets));
  try {
    if (remote === undefined) await testBuiltIn(log);
    else await testRemote(remote, upstreamModel, { log, signal, deps });
    if (request !== undefined)
      await log.run('call', () => callOnce(known, (upstream) => trialCalls(upstream, request, deps.clock, signal), deps, embeds));
    for (const { step, run } of capabilities) {
      if (signal.aborted) break;
      // The other capabilities are still probed after a failure.
      await log.run(step, () => callOnce(known, (upstream) => run(upstream, upstreamModel!, signal), deps, true)).catch(ignoreTestOver);
    }
  } catch (error) {
    if (parent.aborted) throw abortError(parent);
    if (!(error instanceof TestOver)) throw error;
  } finally {
    clearTimeout(timer);
    watchdog.end(callOver);
  }
  const steps = log.all(names);
  const failed = steps.find(({ result: outcome }) => outcome === TestResult.TEST_RESULT_FAILED);
  return { startedAtMs: atMs, ok: failed === undefined, failedStep: failed?.name ?? '', steps, upstreamModel: upstreamModel ?? '' };
}

function ignoreTestOver(error: unknown): void {
  if (!(error instanceof TestOver)) throw error;
}

async function testBuiltIn(log: StepLog): Promise<void> {
  await log.run('address', () => ({ what: finding('built_in', {}), value: undefined }));
  for (const name of ['dns', 'connect', 'tls', 'authentication', 'models'] as const)
    await log.run(name, () => ({ what: finding('built_in', {}), isSkipped: true, value: undefined }));
}

interface TestContext {
  readonly log: StepLog;
  readonly signal: AbortSignal;
  readonly deps: TestDeps;
}

async function testRemote(
  { format, settings }: RemoteUpstream,
  wanted: string | undefined,
  { log, signal, deps }: TestContext,
): Promise<void> {
  const { config, clock } = deps;
  const { allowPrivateNetwork } = settings;
  const url = await log.run('address', () => {
    const baseUrl = parseBaseUrl(settings.baseUrl, allowPrivateNetwork);
    return { what: baseUrl, value: new URL(baseUrl) };
  });
  await log.run('dns', () => lookUp(url, allowPrivateNetwork));
  const connect = guardedConnector({ allowPrivateNetwork, timeoutMs: settings.limits?.connectTimeoutMs ?? config.connectTimeoutMs });
  const plain = await log.run('connect', () => connectTcp(url, connect, signal));
  try {
    const socket = await log.run('tls', () => secure(url, plain, connect, clock.nowMs(), signal));
    const client = clientOver(socket, url, config);
    try {
      const request: ListRequest = { settings, wire: wireOf(format, settings), config, signal };
      const open = async (): Promise<Client> => {
        const another = (await connectTcp(url, connect, signal)).value;
        return clientOver((await secure(url, another, connect, clock.nowMs(), signal)).value, url, config);
      };
      const answer = await log.run('authentication', () => authenticateAll(client, open, request, clock));
      await log.run('models', () => readModels(answer, request, clock.nowMs(), wanted));
    } finally {
      await client.destroy();
    }
  } finally {
    plain.destroy();
  }
}

/** Tries every credential: the first over `client`, the others over connections of their own, because a server may close one after each answer. */
function authenticateAll(client: Client, open: () => Promise<Client>, request: ListRequest, clock: Clock): Promise<Found<ListResponse>> {
  const { credentials } = request.settings;
  return withEach(credentials, request.signal, async (credential) => {
    if (credential === credentials[0]) return authenticate(client, request, credential?.secret, clock.nowMs());
    const another = await open();
    try {
      const found = await authenticate(another, request, credential?.secret, clock.nowMs());
      await found.value.body.dump();
      return found;
    } finally {
      await another.destroy();
    }
  });
}

/** Makes the call over its own connections, so that a disabled upstream can be tested too. */
async function callOnce(
  known: KnownUpstream,
  call: (upstream: Upstream) => Promise<Found<void>>,
  deps: TestDeps,
  isLong = false,
): Promise<Found<void>> {
  const { remote } = known;
  if (remote === undefined) return call(known.upstream!);
  const upstream = createHttpUpstream(remote.format, remote.settings, {
    ...deps,
    // A test is possible even while the maximum number of calls is in flight.
    callsInFlight: localCallsInFlight(),
    config: isLong ? deps.config : { ...deps.config, ...smallAnswers(deps.config) },
  });
  try {
    return await call(upstream);
  } finally {
    upstream.close().catch((error: unknown) => deps.log.warn({ err: error, upstream: upstream.id }, 'upstream did not close'));
  }
}

/** Returns the size limits of calls, reduced to those of a short answer. */
function smallAnswers(
  config: HttpUpstreamDeps['config'],
): Pick<HttpUpstreamDeps['config'], 'eventBytesMax' | 'responseBytesMax' | 'errorBodyBytesMax'> {
  const least = (bytes: number): number => Math.min(bytes, testBodyBytesMax);
  return {
    eventBytesMax: least(config.eventBytesMax),
    responseBytesMax: least(config.responseBytesMax),
    errorBodyBytesMax: least(config.errorBodyBytesMax),
  };
}
