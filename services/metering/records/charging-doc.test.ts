import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Outcome } from '#proto/metering/v1/metering.js';
import { type ChargeRule, outcomeRules } from '#rules/money/outcomes.js';
import { tokens } from '../testing/calls.js';
import { validateUsage } from '../requests/validate-usage.js';

const page = readFileSync(new URL('../../../docs/charging.md', import.meta.url), 'utf8');
const rowsFor = (name: string) => page.split('\n').filter((line) => line.startsWith(`| \`${name}\` |`));

/** How the page words what each rule charges. */
const words: Readonly<Record<ChargeRule, RegExp>> = {
  all: /^All tokens$/,
  if_accepted: /^Nothing unless the upstream had accepted the call; then /,
  if_delivered: /^Nothing unless output was delivered; then /,
  never: /^Nothing$/,
};

describe('docs/charging.md', () => {
  const outcomes = Object.entries(outcomeRules).map(
    ([outcome, rule]) => [Outcome[Number(outcome)]!.slice('OUTCOME_'.length).toLowerCase(), rule.charged] as const,
  );

  it.each(outcomes)('has one row for the outcome %s, which says that it is charged by the rule "%s"', (name, charged) => {
    const rows = rowsFor(name);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.split(' | ')[2]).toMatch(words[charged]);
  });

  it('has no other outcomes', () => {
    const [table] = /\| Outcome \|[^]*?\n\n/.exec(page)!;
    expect([...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name).sort()).toEqual(outcomes.map(([name]) => name).sort());
  });

  it('has one row for each rule of token counts', () => {
    const search = { unit: 'web_search', count: 2 };
    const bounds = { outputCapTokens: 1, price: { units: [{ unit: 'web_search', nanoUsd: 1n, maxPerCall: 1 }] }, unitCaps: undefined };
    const broken = [
      tokens({ inputTokens: -1 }),
      tokens({ outputTokens: 2 }),
      tokens({ reasoningTokens: 1 }),
      tokens({ units: { counts: [search] } }),
      tokens({
        units: {
          counts: [
            { ...search, count: 0 },
            { ...search, count: 0 },
          ],
        },
      }),
      tokens({ units: { counts: [{ unit: 'image', count: 1 }] } }),
    ];
    const rules = broken.flatMap((counts) => validateUsage(counts, 1, bounds).brokenRules).map((rule) => rule.split(' ')[0]!);
    expect(rules).toHaveLength(6);
    const second = page.slice(page.indexOf('are checked again'));
    for (const rule of rules) expect(second.split('\n').filter((line) => line.startsWith(`| \`${rule}\` |`))).toHaveLength(1);
  });
});
