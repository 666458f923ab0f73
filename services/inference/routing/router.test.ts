// Calls to several targets, on a manual clock.
import { describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import type { Reason } from '#rules/errors/reasons.js';
import { ApiFormat, NativeRequest, OverrideMode, type TargetOverride } from '#proto/inference/v1/inference.js';
import { ManualClock } from '#kit/clock.js';
import { windowMemory, WindowTable } from '#kit/limits/window-table.js';
import { recordingLogger } from '#kit/testing/log.js';
import { testConfig } from '../testing/fixtures.js';
import type { UpstreamCredential } from '../upstreams/credentials.js';
import type { ResolvedTarget } from '../upstreams/registry.js';
import { callsMaxReached, VendorRefusal } from '../upstreams/upstream-failure.js';
import { CallRoute } from './call-route.js';
import { Router } from './router.js';
import { type Allowance, Pace } from './pace.js';
import { pauseBeforeRetry } from './verdict.js';

function start(changes: Parameters<typeof testConfig>[0] = {}) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger('debug');
  const router = new Router({
    config: testConfig(changes),
    clock,
    log,
    pace: new Pace(new WindowTable(windowMemory(1, 64), 1), clock),
    random: () => 0,
  });
  /** Returns the route of a call to these targets. */
  const routeTo = (
    names: string[],
    {
      format = ApiFormat.API_FORMAT_MESSAGES,
      credentials = [] as UpstreamCredential[],
      caller = undefined as ApiFormat | undefined,
      weight = undefined as number | undefined,
    } = {},
  ): CallRoute => {
    const targets = names.map(
      (name) =>
        ({
          // Those with a number behind their names have it as their priority, and are of another format if they begin with "x".
          target: { upstreamId: name, upstreamModel: 'm', priority: /\d/.test(name) ? Number(name.at(-1)) : undefined, weight },
          upstream: { format: name.startsWith('x') ? ApiFormat.API_FORMAT_RESPONSES : format, credentials },
        }) as unknown as ResolvedTarget,
    );
    const native = caller === undefined ? undefined : NativeRequest.fromPartial({ format: caller });
    return new CallRoute(router, targets, { inputTokensMax: 0, affinityScope: undefined, prompt: undefined, native });
  };
  /** Runs a call to these targets; `outcome` gives the error of each. Returns the targets that were tried. */
  const call = (
    names: string[],
    outcome: (name: string, credential: string | undefined) => Reason | VendorRefusal | AppError | undefined,
    options?: Parameters<typeof routeTo>[1],
  ): string[] => {
    const route = routeTo(names, options);
    const tried: string[] = [];
    let target: ResolvedTarget | undefined = route.first();
    while (target !== undefined) {
      const name = target.target.upstreamId;
      const credential = route.credential?.id;
      tried.push(credential === undefined ? name : `${name}.${credential}`);
      const reason = outcome(name, credential);
      target = undefined;
      route.begin();
      if (reason === undefined) route.succeed();
      else {
        const options = reason === 'upstream_rate_limited' ? { retryAfterMs: 5000 } : {};
        const error =
          reason instanceof AppError
            ? reason
            : reason instanceof VendorRefusal
              ? new AppError('upstream_unavailable', 'No.', { cause: reason })
              : new AppError(reason, 'No.', options);
        route.fail(error);
        target = route.next(error, true)?.resolved;
      }
    }
    return tried;
  };
  /** Returns the route of a call of about a hundred tokens to an upstream with this allowance. */
  const pacedRoute = (allowance: Allowance): CallRoute => {
    const upstream = { format: ApiFormat.API_FORMAT_MESSAGES, credentials: [], allowance };
    const target = { target: { upstreamId: 'paced', upstreamModel: 'm' }, upstream } as unknown as ResolvedTarget;
    const route = new CallRoute(router, [target], {
      inputTokensMax: 400,
      affinityScope: undefined,
      prompt: undefined,
      native: undefined,
    });
    route.first();
    return route;
  };
  return { clock, lines, call, routeTo, router, pacedRoute };
}

const override = (mode: OverrideMode, setAtMs: number, changes: Partial<TargetOverride> = {}): TargetOverride => ({
  upstreamId: 'a',
  upstreamModel: 'm',
  credentialId: '',
  mode,
  setAtMs: BigInt(setAtMs),
  untilMs: 0n,
  ...changes,
});

const aIsBroken = (name: string): Reason | undefined => (name === 'a' ? 'upstream_failed' : undefined);

describe('calls', () => {
  it('go to a target of their own format first, among those of one priority without weights', () => {
    const { call } = start();
    const fine = () => undefined;
    const [responses, messages] = [ApiFormat.API_FORMAT_RESPONSES, ApiFormat.API_FORMAT_MESSAGES];
    const names = ['a0', 'xb0', 'c1'];
    expect(call(names, fine, { caller: responses })).toEqual(['xb0']);
    expect(call(names, fine, { caller: messages })).toEqual(['a0']);
    expect(call(names, fine)).toEqual(['a0']);
    expect(call(names, fine, { caller: responses, weight: 1 })).toEqual(['a0']);
    expect(call(['a0', 'xb1'], fine, { caller: responses })).toEqual(['a0']);
    // The others of the priority follow before those of the next.
    expect(call(names, (name) => (name === 'c1' ? undefined : 'upstream_failed'), { caller: responses })).toEqual(['xb0', 'a0', 'c1']);
  });

  it('skip a target after five failures, and try it once each time that its ejection ends', () => {
    const { clock, call, lines } = start();
    const calls = Array.from({ length: 60 }, () => call(['a', 'b'], aIsBroken).join(''));
    expect(calls).toEqual([...Array.from({ length: 5 }, () => 'ab'), ...Array.from({ length: 55 }, () => 'b')]);
    clock.advance(30_000);
    expect([call(['a', 'b'], aIsBroken).join(''), call(['a', 'b'], aIsBroken).join('')]).toEqual(['ab', 'b']);
    clock.advance(60_000);
    expect([call(['a', 'b'], () => undefined), call(['a', 'b'], () => undefined)]).toEqual([['a'], ['a']]);
    const changes = lines.filter(({ msg }) => String(msg).startsWith('upstream target'));
    expect(changes.map(({ msg, for_ms: forMs }) => [msg, forMs])).toEqual([
      ['upstream target ejected', 30_000],
      ['upstream target ejected', 60_000],
      ['upstream target returned to service', undefined],
    ]);
  });

  it('share the health of a target between models', () => {
    const { call } = start();
    for (let count = 0; count < 5; count += 1) call(['a', 'b'], aIsBroken);
    expect(call(['a', 'c'], () => undefined)).toEqual(['c']);
  });

  it('are sent to the only target, and to the last one that is not ejected, however often it fails', () => {
    const { call } = start({ retriesPerSecondMin: 1000 });
    for (let count = 0; count < 20; count += 1) {
      expect(call(['a'], () => 'upstream_timeout')).toEqual(['a']);
      expect(call(['b', 'c'], () => 'upstream_timeout').sort()).toEqual(['b', 'c']);
    }
  });

  it('leave a target whose answers break off even if another one was ejected earlier, and no call has tried it since', () => {
    const { clock, call, lines, routeTo } = start();
    const bIsBroken = (name: string): Reason | undefined => (name === 'b2' ? 'upstream_failed' : undefined);
    for (let count = 0; count < 5; count += 1) call(['b2', 'c3'], bIsBroken);
    clock.advance(30_000);
    for (let count = 0; count < 5; count += 1) {
      const route = routeTo(['a1', 'b2']);
      route.first();
      route.begin();
      route.fail(new AppError('upstream_failed', 'It broke off.'));
    }
    const ejections = lines.filter(({ msg }) => msg === 'upstream target ejected').map(({ upstream }) => upstream);
    expect(ejections).toEqual(['b2', 'a1']);
  });

  it('leave a target alone for as long as its vendor says', () => {
    const { clock, call, lines } = start();
    const limited = (name: string) => (name === 'a' ? 'upstream_rate_limited' : undefined);
    expect(call(['a', 'b'], limited)).toEqual(['a', 'b']);
    expect(call(['a', 'b'], limited)).toEqual(['b']);
    clock.advance(5000);
    expect(call(['a', 'b'], () => undefined)).toEqual(['a']);
    expect(lines.filter(({ msg }) => msg === 'upstream target is cooling down')).toHaveLength(1);
  });

  it('do not eject a target because of invalid requests', () => {
    const { call } = start();
    const mistakes: Reason[] = ['upstream_rejected', 'context_length_exceeded', 'body_too_large', 'cancelled', 'unsupported_field'];
    for (let round = 0; round < 10; round += 1)
      for (const mistake of mistakes) call(['a', 'b'], (name) => (name === 'a' ? mistake : undefined));
    expect(call(['a', 'b'], () => undefined)).toEqual(['a']);
  });

  const credentials = ['x', 'y'].map((id) => ({ id, secret: id, setAtMs: 1 }));

  it('leave out a credential whose rate is limited, for as long as the vendor says, and use the others of the same target', () => {
    const { clock, call, lines } = start();
    const xIsLimited = (_name: string, credential?: string) => (credential === 'x' ? 'upstream_rate_limited' : undefined);
    expect(call(['a', 'b'], xIsLimited, { credentials })).toEqual(['a.x', 'a.y']);
    for (let count = 0; count < 5; count += 1) expect(call(['a', 'b'], xIsLimited, { credentials })).toEqual(['a.y']);
    clock.advance(5000);
    expect(call(['a', 'b'], () => undefined, { credentials })).toEqual(['a.x']);
    expect(lines.find(({ msg }) => msg === 'upstream credential is cooling down')).toMatchObject({ upstream: 'a', credential: 'x' });
  });

  it('go to the next target when all credentials of the first are limited', () => {
    const { call } = start();
    const aIsLimited = (name: string) => (name === 'a' ? 'upstream_rate_limited' : undefined);
    expect(call(['a', 'b'], aIsLimited, { credentials })).toEqual(['a.x', 'a.y', 'b.x']);
    expect(call(['a', 'b'], aIsLimited, { credentials })).toEqual(['b.x']);
  });

  it('eject a credential that the vendor rejects at once, try it once when its ejection ends, and forget that when its secret is replaced', () => {
    const { clock, call } = start();
    const xIsRevoked = (_name: string, credential?: string) => (credential === 'x' ? new VendorRefusal(401, [], 'No.') : undefined);
    expect(call(['a'], xIsRevoked, { credentials })).toEqual(['a.x', 'a.y']);
    expect(call(['a'], xIsRevoked, { credentials })).toEqual(['a.y']);
    clock.advance(30_000);
    expect(call(['a'], xIsRevoked, { credentials })).toEqual(['a.x', 'a.y']);
    expect(call(['a'], xIsRevoked, { credentials })).toEqual(['a.y']);
    const rotated = credentials.map((credential) => ({ ...credential, setAtMs: credential.id === 'x' ? 2 : 1 }));
    expect(call(['a'], () => undefined, { credentials: rotated })).toEqual(['a.x']);
  });

  it('go on with another credential when one was limited while a hedge ran, and the hedge failed too', () => {
    const { routeTo } = start();
    const first = routeTo(['a', 'b'], { credentials });
    first.first();
    first.begin();
    const second = first.hedge()!;
    second.begin();
    first.fail(new AppError('upstream_rate_limited', 'No.'));
    const error = new AppError('upstream_failed', 'No.');
    second.fail(error);
    expect(second.next(error, true)?.resolved.target.upstreamId).toBe('a');
    expect(second.credential?.id).toBe('y');
  });

  it('try each credential once, even if the list of credentials is replaced while the call runs', () => {
    const { call } = start();
    const rotated = credentials.map((credential) => ({ ...credential, setAtMs: 2 }));
    const areRevoked = () => {
      expect(call(['a'], () => undefined, { credentials: rotated })).toHaveLength(1);
      return new VendorRefusal(401, [], 'No.');
    };
    expect(call(['a'], areRevoked, { credentials })).toEqual(['a.x', 'a.y']);
  });

  it('count failures of the server against the target, whatever the credential', () => {
    const { call } = start();
    const calls = Array.from({ length: 7 }, () => call(['a', 'b'], aIsBroken, { credentials }).join(' '));
    expect(calls).toEqual([...Array.from({ length: 5 }, () => 'a.x b.x'), 'b.x', 'b.x']);
  });

  it('do not try other credentials of a target whose vendor does not have the model', () => {
    const { call } = start();
    const outcome = (name: string) => (name === 'a' ? new VendorRefusal(404, [], 'no such model') : undefined);
    expect(call(['a', 'b'], outcome, { credentials })).toEqual(['a.x', 'b.x']);
  });

  it('use none of the tokens of a vendor that refuses them', () => {
    const { pacedRoute } = start({ paceWaitMs: 0 });
    const first = pacedRoute({ tokensPerMinute: 100 });
    expect(first.admit(new AbortController().signal)).toBeUndefined();
    first.begin();
    first.fail(new AppError('upstream_rate_limited', 'No.'));
    expect(pacedRoute({ tokensPerMinute: 100 }).admit(new AbortController().signal)).toBeUndefined();
    expect(() => pacedRoute({ tokensPerMinute: 100 }).admit(new AbortController().signal)).toThrow(
      expect.objectContaining({ reason: 'upstream_rate_limited' }),
    );
  });

  it('wait for allowances no longer in total than the setting', async () => {
    const { clock, pacedRoute } = start({ paceWaitMs: 700 });
    expect(pacedRoute({ requestsPerMinute: 1 }).admit(new AbortController().signal)).toBeUndefined();
    clock.advance(60_000);
    // Others take the allowance, so that it is used up again after each wait of half a second.
    await expect(pacedRoute({ requestsPerMinute: 1 }).admit(new AbortController().signal)).rejects.toMatchObject({
      reason: 'upstream_rate_limited',
      retryAfterMs: 500,
    });
  });

  it('are not retried beyond the budget of their model', () => {
    const { clock, call } = start({ retriesPerSecondMin: 1, retryPercent: 20, failuresMax: 1000, failureCallsMin: 10_000 });
    let retries = 0;
    for (let count = 0; count < 1000; count += 1) {
      retries += call(['a', 'b'], aIsBroken).length - 1;
      clock.advance(1);
    }
    expect(retries).toBeGreaterThan(190);
    expect(retries).toBeLessThanOrEqual(212);
  });

  it('go to the next target without a retry from the budget if the first was not called: it is full, or cannot express the request', () => {
    const { call } = start({ retriesPerSecondMin: 0, retryPercent: 0 });
    for (const error of [callsMaxReached(), new AppError('unsupported_field', 'No.')])
      expect(call(['a', 'b'], (name) => (name === 'a' ? error : undefined))).toEqual(['a', 'b']);
    expect(call(['a'], callsMaxReached)).toEqual(['a']);
    expect(call(['a', 'b'], aIsBroken)).toEqual(['a']);
  });

  it('try the only target twice, unless it would fail again or is the sandbox', () => {
    const { call } = start();
    expect(call(['a'], () => 'upstream_failed')).toEqual(['a', 'a']);
    expect(call(['a'], () => 'upstream_rejected')).toEqual(['a']);
    expect(call(['a'], () => 'upstream_unavailable')).toEqual(['a']);
    expect(call(['a'], () => 'upstream_rate_limited')).toEqual(['a']);
    expect(call(['sandbox'], () => 'upstream_failed', { format: ApiFormat.API_FORMAT_SANDBOX })).toEqual(['sandbox']);
  });
});

describe('an override', () => {
  const { OVERRIDE_MODE_DRAIN: drain, OVERRIDE_MODE_EJECT: eject } = OverrideMode;
  const credentials = ['x', 'y'].map((id) => ({ id, secret: id, setAtMs: 1 }));
  const fine = () => undefined;

  it('keeps calls from a drained credential after the others were removed', () => {
    const { call, router } = start();
    router.apply([override(drain, 100, { credentialId: 'x' })]);
    expect(call(['a'], fine, { credentials })).toEqual(['a.y']);
    const left = credentials.slice(0, 1);
    expect(call(['a', 'b'], fine, { credentials: left })).toEqual(['b']);
    expect(() => call(['a'], fine, { credentials: left })).toThrow(expect.objectContaining({ reason: 'model_unavailable' }));
  });

  it('makes the target that is not drained the only one: it is tried twice, and never ejected', () => {
    const { call, router } = start();
    router.apply([override(drain, 100, { upstreamId: 'b' })]);
    for (let count = 0; count < 6; count += 1) expect(call(['a', 'b'], () => 'upstream_failed')).toEqual(['a', 'a']);
    router.apply([override(OverrideMode.OVERRIDE_MODE_RETURN, 200, { upstreamId: 'b' })]);
    expect(call(['a', 'b'], () => undefined)).toEqual(['a']);
  });

  it('no longer drains a credential once it is gone, also in a process that missed the return of its target', () => {
    const { clock, call, router } = start();
    router.apply([override(drain, 100, { credentialId: 'x' })]);
    expect(call(['a'], fine, { credentials })).toEqual(['a.y']);
    // The return of the target removed the override of the credential, and the ejection replaced the return.
    router.apply([override(eject, 300, { untilMs: BigInt(clock.nowMs() + 1000) })]);
    expect(call(['a'], fine, { credentials })).toEqual(['a.x']);
  });
});

describe('the pause before the only target is tried again', () => {
  const pause = (reason: Reason, hasStatus: boolean, retryAfterMs?: number) =>
    pauseBeforeRetry(new AppError(reason, 'No.', retryAfterMs === undefined ? {} : { retryAfterMs }), hasStatus, 100);

  it('is what the vendor requests, if that is short', () => {
    expect(pause('upstream_overloaded', true)).toBe(100);
    expect(pause('upstream_overloaded', true, 500)).toBe(500);
    expect(pause('upstream_overloaded', true, 2001)).toBeUndefined();
    expect(pause('upstream_rate_limited', true, 500)).toBe(500);
  });

  it('is omitted where a second attempt would fail as well or take as long again', () => {
    expect(pause('upstream_rate_limited', true)).toBeUndefined();
    expect(pause('upstream_unavailable', true)).toBeUndefined();
    expect(pause('upstream_unavailable', false)).toBe(100);
    expect(pause('upstream_timeout', false)).toBeUndefined();
  });
});
