import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { usageFaults } from './usage-report.js';

it('docs/charging.md says which figures of an upstream are rejected', () => {
  const page = readFileSync(new URL('../../../docs/charging.md', import.meta.url), 'utf8');
  const [table] = /\| Rule \| Figures that break it \|\n[^]*?\n\n/.exec(page)!;
  expect([...table.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]).sort()).toEqual([...usageFaults].sort());
});
