import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { root } from '#kit/root.js';
import { modelFilePage } from './model-file-page.js';

it('docs/model-files.md matches the fields and words in the code (TOLLGATE_TEST_WRITE_DOCS=1 updates it)', () => {
  const path = new URL('docs/model-files.md', root);
  const page = modelFilePage();
  if (process.env['TOLLGATE_TEST_WRITE_DOCS'] === '1') writeFileSync(path, page);
  expect(readFileSync(path, 'utf8')).toBe(page);
  expect(page).not.toContain('|  |\n');
});
