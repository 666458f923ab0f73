// The committed baseline protects callers: a change that breaks them is detected.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

describe('the contracts, compared with their baseline', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-proto-'));
    for (const name of ['buf.yaml', 'google', 'tollgate']) cpSync(join('proto', name), join(folder, name), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['a changed field type', '  string account_id = 1;', '  int64 account_id = 1;', 'changed type'],
    ['a deleted enum value', '  // A gift, such as a starting balance.\n  DEPOSIT_SOURCE_PROMOTION = 2;\n', '', 'was deleted'],
  ])('are reported as broken by %s', async (_what, before, after, fault) => {
    const path = join(folder, 'tollgate/ledger/v1/ledger.proto');
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(before);
    writeFileSync(path, text.replace(before, after));
    const found = await new Promise<string>((resolve) => {
      execFile('node_modules/.bin/buf', ['breaking', folder, '--against', 'proto/baseline.binpb'], (_error, stdout) => resolve(stdout));
    });
    expect(found).toContain(fault);
  });
});
