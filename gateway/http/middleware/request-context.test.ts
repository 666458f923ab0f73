// The log line of a request.
import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import Koa from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { systemClock } from '#kit/clock.js';
import { recordingLogger } from '#kit/testing/log.js';
import { listen } from '#kit/testing/local-server.js';
import { messages } from '../../formats/messages/index.js';
import { errors } from './errors.js';
import { first } from './request-context.js';

it.each([
  ['/v1/models', 'info', 200, undefined],
  ['/v1/models', 'info', 401, 'key_unknown'],
  ['/v1/models', 'warn', 529, 'overloaded'],
  ['/livez', 'debug', 200, undefined],
  ['/readyz', 'debug', 529, 'overloaded'],
] as const)('of %s has the level %s if the status is %d, and the reason of an error', async (path, level, status, reason) => {
  const { log, lines } = recordingLogger('debug');
  const app = new Koa();
  app.use(first({ clock: systemClock, log, bodies: {} as never, dialectOf: () => messages }));
  app.use(errors(log, { note: () => undefined, count: () => undefined }));
  app.use((ctx) => {
    if (reason !== undefined) throw new AppError(reason, 'Failed.');
    ctx.body = 'x';
  });
  const server = createServer(app.callback());
  const response = await fetch(`http://127.0.0.1:${await listen(server)}${path}`);
  await response.text();
  server.close();
  expect(lines).toEqual([expect.objectContaining({ level, status, msg: 'request', request_id: response.headers.get('request-id') })]);
  expect(lines[0]!['reason']).toBe(reason);
});
