import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Outcome } from '#proto/metering/v1/metering.js';
import { tokens } from '../testing/calls.js';
import { validateUsage } from '../requests/validate-usage.js';

const page = readFileSync(new URL('../../../docs/charging.md', import.meta.url), 'utf8');
const rowsFor = (name: string) => page.split('\n').filter((line) => line.startsWith(`| \`${name}\` |`));

describe('docs/charging.md', () => {
  const outcomes = Object.keys(Outcome).filter((name) => /^OUTCOME_(?!UNSPECIFIED)/.test(name));

  it.each(outcomes.map((name) => name.slice('OUTCOME_'.length).toLowerCase()))('has one row for the outcome %s', (name) => {
    expect(rowsFor(name)).toHaveLength(1);
  });

  it('has one row for each rule of token counts', () => {
    const broken = [tokens({ inputTokens: -1 }), tokens({ outputTokens: 2 }), tokens({ reasoningTokens: 1 })];
    const rules = broken.flatMap((counts) => validateUsage(counts, 1, 1).brokenRules).map((rule) => rule.split(' ')[0]!);
    expect(rules).toHaveLength(3);
    const second = page.slice(page.indexOf('look at them once more'));
    for (const rule of rules) expect(second.split('\n').filter((line) => line.startsWith(`| \`${rule}\` |`))).toHaveLength(1);
  });
});
