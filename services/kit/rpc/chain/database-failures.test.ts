import { describe, expect, it } from '@jest/globals';
import { probeAccess } from '../../testing/access.js';
import { recordingLogger } from '../../testing/log.js';
import { probe, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { callContext } from '#client/call-context.js';
import { decorateService } from './standard-chain.js';

const context = callContext({ caller: 'operator' });
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

function serviceThatFails(error: Error) {
  const { log, lines } = recordingLogger();
  const fail = async (): Promise<never> => {
    throw error;
  };
  const service = probeService({
    echo: fail,
    async *count(request) {
      yield request;
      await fail();
    },
  });
  return {
    service: decorateService(ProbeServiceDefinition, service, { access: probeAccess(), log }),
    lines,
  };
}

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

describe('a service whose database is unavailable', () => {
  it('fails every kind of call with service_unavailable and a retry delay', async () => {
    const { service } = serviceThatFails(refused);
    const expected = { reason: 'service_unavailable', retryAfterMs: 1000 };
    await expect(service.echo(probe('x'), context)).rejects.toMatchObject(expected);
    await expect(drained(service.count(probe('x'), context))).rejects.toMatchObject(expected);
  });

  it('logs the cause once, not at every call', async () => {
    const { service, lines } = serviceThatFails(refused);
    for (let count = 0; count < 3; count += 1) await service.echo(probe('x'), context).catch(() => undefined);
    expect(lines).toEqual([
      expect.objectContaining({ msg: 'the database failed a call', err: expect.objectContaining({ code: 'ECONNREFUSED' }) }),
    ]);
  });

  it('still hides internal errors', async () => {
    const { service } = serviceThatFails(Object.assign(new Error('unknown column'), { errno: 1054 }));
    await expect(service.echo(probe('x'), context)).rejects.toMatchObject({ reason: 'internal' });
  });
});
