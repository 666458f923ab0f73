import { describe, expect, it } from '@jest/globals';
import type { Context } from 'koa';
import { sameSite } from './session.js';

/** Reports whether a request to console.example with these headers is admitted. */
async function isAdmitted(headers: Readonly<Record<string, string>>, method = 'POST'): Promise<boolean> {
  let admitted = false;
  const ctx = { method, host: 'console.example', get: (name: string) => headers[name] ?? '' } as unknown as Context;
  const next = async (): Promise<void> => void (admitted = true);
  await sameSite()(ctx, next).catch((error: unknown) => expect(error).toMatchObject({ reason: 'role_not_permitted' }));
  return admitted;
}

describe('a change in the console', () => {
  const header = { 'x-tollgate-console': '1' };
  const own = { ...header, origin: 'https://console.example' };

  it.each<[string, Record<string, string>, boolean]>([
    ['without the header of the console', { origin: 'https://console.example', 'sec-fetch-site': 'same-origin' }, false],
    ['by a program', header, true],
    ['from the console itself', { ...own, 'sec-fetch-site': 'same-origin' }, true],
    ['from the console by a browser without sec-fetch-site', own, true],
    ['from another site', { ...header, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, false],
    ['from another site by a browser without sec-fetch-site', { ...header, origin: 'https://evil.example' }, false],
    ['from another site that claims the origin of the console', { ...own, 'sec-fetch-site': 'cross-site' }, false],
    ['from a sibling of the site', { ...own, 'sec-fetch-site': 'same-site' }, false],
    ['typed by the user', { ...header, 'sec-fetch-site': 'none' }, false],
    ['behind a proxy that changes the host', { ...header, origin: 'https://outside.example', 'sec-fetch-site': 'same-origin' }, true],
    ['from no readable origin', { ...header, origin: 'null' }, false],
  ])('%s', async (_from, headers, admitted) => {
    expect(await isAdmitted(headers)).toBe(admitted);
  });

  it('needs no header for GET and HEAD, which change nothing', async () => {
    for (const method of ['GET', 'HEAD']) expect(await isAdmitted({ 'sec-fetch-site': 'cross-site' }, method)).toBe(true);
  });
});
