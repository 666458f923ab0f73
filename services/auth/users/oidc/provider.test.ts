// The number of requests to the identity provider, which any client can cause. Sign-ins at a real provider are in tests/accounts.
import { createServer, type ServerResponse } from 'node:http';
import { afterAll, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { createLogger } from '#kit/log.js';
import { eventually } from '#kit/testing/waiting.js';
import { close, listen } from '#kit/testing/local-server.js';
import { createOidc } from './provider.js';

const hanging: ServerResponse[] = [];
const server = createServer((_request, response) => void hanging.push(response));
afterAll(() => close(server));

it('a provider that hangs gets a limited number of requests, and others once it has answered', async () => {
  const provider = createOidc(
    {
      oidcIssuer: `http://127.0.0.1:${await listen(server)}`,
      oidcClientId: 'tollgate',
      oidcClientSecret: undefined,
      oidcName: 'Test ID',
      oidcScopes: 'openid',
      oidcTrustEmail: false,
    },
    { clock: new ManualClock(), log: createLogger({ name: 'auth', level: 'fatal' }) },
  )!;
  const begin = () => provider.begin('https://ai.example.com/callback', false);
  const waiting = Array.from({ length: 20 }, begin);
  await expect(begin()).rejects.toMatchObject({ reason: 'overloaded' });
  await eventually(() => (hanging.length > 0 ? true : undefined));
  const answerAll = (): void => hanging.splice(0).forEach((response) => response.writeHead(500).end());
  answerAll();
  for (const outcome of await Promise.allSettled(waiting)) expect(outcome).toMatchObject({ reason: { reason: 'service_unavailable' } });
  const again = begin();
  await eventually(() => (hanging.length > 0 ? true : undefined));
  answerAll();
  await expect(again).rejects.toMatchObject({ reason: 'service_unavailable' });
});
