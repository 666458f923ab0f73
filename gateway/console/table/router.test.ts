import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import Router from '@koa/router';
import Koa from 'koa';
import type { CallContext } from '#client/call-context.js';
import { ManualClock } from '#kit/clock.js';
import { close, listen } from '#kit/testing/local-server.js';
import { AuthenticateManagementKeyResponse } from '#proto/auth/v1/users.js';
import { mintSecret } from '#rules/keys/key-secrets.js';
import type { OperationDeps } from '../deps.js';
import { done, operation } from './operation.js';
import { addRoutes } from './router.js';

it('calls RPCs with a new actor token once the session has been read again', async () => {
  let tokens = 0;
  const authenticateManagementKey = async (_request: unknown, context: CallContext) => {
    // The present token may have expired.
    expect(context.actorToken).toBeUndefined();
    const actorToken = { token: `token ${(tokens += 1)}`, expiresAtMs: BigInt(clock.nowMs() + 120_000) };
    return AuthenticateManagementKeyResponse.fromPartial({ key: { scopes: ['keys:read'] }, user: {}, membership: {}, actorToken });
  };
  const clock = new ManualClock();
  const config = { managementPerMinuteMax: 60, rpcTimeoutMs: 1000 };
  const limiter = { admitManagement: async () => undefined };
  const used: (string | undefined)[] = [];
  const slow = operation('POST', '/slow', {
    summary: 'Take long.',
    who: 'signed in',
    scope: 'keys:read',
    answers: [done()],
    handle: async (call) => {
      const note = async (): Promise<void> => void used.push(call.context().actorToken);
      await note();
      await call.readmit(note);
    },
  });
  const router = new Router();
  const deps = { peers: { users: { authenticateManagementKey } }, config, clock, limiter } as unknown as OperationDeps;
  addRoutes(router, [{ title: 'Slow', description: '', operations: [slow] }], deps);
  const server = createServer(new Koa().use(router.routes()).callback());
  try {
    const origin = `http://127.0.0.1:${await listen(server)}`;
    const headers = { authorization: `Bearer ${mintSecret(undefined, 'mk-tg-')}` };
    expect((await fetch(`${origin}/slow`, { method: 'POST', headers })).status).toBe(204);
    expect(used).toEqual(['token 1', 'token 2']);
  } finally {
    await close(server);
  }
});
