import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { testEngines } from '#kit/testing/database.js';
import { CreateKeyRequest, UpdateKeyRequest } from '#proto/auth/v1/auth.js';
import { hashSecret } from '#rules/keys/key-secrets.js';
import { newAccount, newKey, operator, startTestAuth, type TestAuth } from './testing/auth.js';

describe.each(testEngines)('a secret on %s', (engine) => {
  let auth: TestAuth;
  let secret: string;
  let rotated: string;
  beforeAll(async () => {
    auth = await startTestAuth(engine);
    const account = await newAccount(auth.service);
    const request = CreateKeyRequest.fromPartial({ accountId: account.id, name: 'laptop', idempotencyKey: 'once' });
    const created = await auth.service.createKey(request, operator);
    secret = created.secret;
    const own = { keyId: created.key!.id, accountId: account.id };
    await auth.service.createKey(request, operator);
    await auth.service.authenticate({ secretHash: hashSecret(secret) }, operator);
    await auth.service.updateKey(UpdateKeyRequest.fromPartial({ ...own, name: 'server', updateMask: ['name'] }), operator);
    rotated = (await auth.service.rotateKey({ ...own, overlapMs: 1000 }, operator)).secret;
    await auth.service.revokeKey(own, operator);
    await newKey(auth.service, account);
  });
  afterAll(() => auth.stop());

  // The random middle, without the prefix and the four characters that are shown.
  const middle = () => secret.slice('sk-tg-'.length, -4);

  it('is in no row of the database', async () => {
    const tables = ['account', 'platform_key', 'former_secret', 'idempotency', 'change_counter'];
    const content: string[] = [];
    for (const table of tables) {
      const rows: Record<string, unknown>[] = await auth.db.knex(table).select();
      for (const value of rows.flatMap((row) => Object.values(row)))
        content.push(Buffer.isBuffer(value) ? value.toString('latin1') : String(value));
    }
    expect(content).toContain(hashSecret(secret).toString('latin1'));
    expect(content).toContain(hashSecret(rotated).toString('latin1'));
    expect(content.join('\n')).not.toContain(middle());
    expect(content.join('\n')).not.toContain(rotated.slice('sk-tg-'.length, -4));
  });

  it('is in no log line, although the changes of its key are logged', () => {
    const lines = auth.logLines.join('');
    expect(lines).toContain('key created');
    expect(lines).toContain('key revoked');
    expect(lines).not.toContain(middle());
    expect(lines).not.toContain(hashSecret(secret).toString('hex'));
  });

  if (engine === 'sqlite')
    it('is in none of the files of the database', async () => {
      const [main] = (await auth.db.knex.raw('PRAGMA database_list')) as { file: string }[];
      const folder = dirname(main!.file);
      const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
      expect(files.some((file) => file.includes(hashSecret(secret)))).toBe(true);
      expect(files.some((file) => file.includes(middle()))).toBe(false);
    });
});
