import { describe, expect, it } from '@jest/globals';
import { callContext } from './call-context.js';
import type { MethodInfo } from './definition.js';
import { AppError } from './errors/app-error.js';
import { type CallingOptions, withRetries } from './retries.js';

const method = (idempotencyLevel?: string): MethodInfo =>
  ({ key: 'get', fullName: 'test.v1.Test/Get', definition: { options: { idempotencyLevel } } }) as unknown as MethodInfo;
const unavailable = new AppError('service_unavailable', 'Unavailable.');

/** Calls the method, whose attempts fail with these errors in turn. Returns the result or the error, and the number of attempts. */
async function call(
  failures: readonly AppError[],
  {
    info = method('IDEMPOTENT'),
    options = {},
    context,
  }: { info?: MethodInfo; options?: Partial<CallingOptions>; context?: ReturnType<typeof callContext> } = {},
): Promise<[result: unknown, attempts: number]> {
  let attempts = 0;
  const once = async (): Promise<unknown> => {
    const failure = failures[attempts];
    attempts += 1;
    if (failure !== undefined) throw failure;
    return 'done';
  };
  const retried = withRetries(info, once, { caller: 'test', attempts: 3, ...options });
  const result = await retried({}, context as never).catch((error: AppError) => error.reason);
  return [result, attempts];
}

describe('a call', () => {
  it('is retried while the service is unavailable, up to the maximum number of attempts', async () => {
    expect(await call([unavailable, unavailable])).toEqual(['done', 3]);
    expect(await call([unavailable, unavailable, unavailable])).toEqual(['service_unavailable', 3]);
    expect(await call([unavailable], { options: { attempts: 1 } })).toEqual(['service_unavailable', 1]);
  });

  it('is not retried after another error, whose result would be the same or unknown', async () => {
    for (const reason of ['invalid_request', 'overloaded', 'deadline_exceeded', 'internal'] as const)
      expect(await call([new AppError(reason, 'No.')])).toEqual([reason, 1]);
  });

  it('is not retried if the contract does not declare it idempotent', async () => {
    expect(await call([unavailable], { info: method() })).toEqual(['service_unavailable', 1]);
  });

  it('is retried only within its deadline, all attempts together, and only while its caller waits', async () => {
    expect(await call([unavailable], { options: { timeoutMs: 20 } })).toEqual(['service_unavailable', 1]);
    expect(await call([unavailable], { context: callContext({ caller: 'test', timeoutMs: 20 }) })).toEqual(['service_unavailable', 1]);
    const context = callContext({ caller: 'test', timeoutMs: 10_000, signal: AbortSignal.abort() });
    expect(await call([unavailable], { context })).toEqual(['service_unavailable', 1]);
  });
});
