// Tests the check of refusals with correct and impossible refusals.
import { expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '#client/errors/app-error.js';
import { Timeline } from './timeline.js';

/** Returns what is wrong with a refusal that names these amounts, on an account with 1,000 of which one call holds 700 and one has spent 100. */
async function faultOf(named: {
  available: bigint;
  needed?: bigint;
  held?: bigint;
  reason?: 'balance_held' | 'balance_empty';
}): Promise<string | undefined> {
  const timeline = new Timeline(1_000n, 5_000n);
  const spent = timeline.asks('key_1');
  spent.granted(300n);
  spent.ends();
  spent.ended(100n);
  timeline.asks('key_2').granted(700n);
  await pause(5);
  const refused = timeline.asks('key_1');
  const details = {
    available_nano_usd: String(named.available),
    needed_nano_usd: String(named.needed ?? 250n),
    held_nano_usd: String(named.held ?? 700n),
  };
  refused.refused(new AppError(named.reason ?? 'balance_held', 'refused', { details }), 250n);
  await pause(5);
  // Begins after the refusal, and so cannot be the reason for it.
  timeline.asks('key_1').granted(200n);
  return timeline.judge().wrong[0];
}

it('accepts a refusal that names the available amount', async () => {
  expect(await faultOf({ available: 200n })).toBeUndefined();
});

it('rejects a refusal that names a sufficient amount', async () => {
  expect(await faultOf({ available: 250n })).toContain('was enough');
});

it('rejects a refusal that names an impossible amount', async () => {
  expect(await faultOf({ available: 201n })).toContain('cannot have been');
  expect(await faultOf({ available: 0n })).toContain('cannot have been');
});

it('rejects a refusal of a different amount, and one that ignores what calls in flight hold', async () => {
  expect(await faultOf({ available: 200n, needed: 300n })).toContain('a different amount');
  expect(await faultOf({ available: 200n, reason: 'balance_empty' })).toContain('calls in flight');
  expect(await faultOf({ available: 200n, held: 0n, reason: 'balance_empty' })).toBeUndefined();
});
