import { afterEach, describe, expect, it } from '@jest/globals';
import { BodyGuard } from './body-guard.js';
import { localOccupancy } from './occupancy.js';

const unit = 65_536;
const ignore = (): void => undefined;
const overloaded = expect.objectContaining({ reason: 'overloaded', retryAfterMs: 1000 });

describe('bodies that are being read', () => {
  let guard: BodyGuard;
  afterEach(() => guard.stop());

  function start(): void {
    const limits = { bodiesBytesMax: 4 * unit, bodiesBytesPerAccountMax: 2 * unit, uploadBytesPerSecondMin: 1 };
    guard = new BodyGuard(limits, localOccupancy());
  }

  it('of one account take no more than its limit, however they arrive, until they end', () => {
    start();
    const [first, second] = [guard.begin('acct_1', ignore), guard.begin('acct_1', ignore)];
    for (let part = 0; part < 4; part += 1) first.add(unit / 4);
    second.add(unit);
    expect(() => second.add(unit)).toThrow(overloaded);
    expect(() => guard.begin('acct_1', ignore).add(unit)).toThrow(overloaded);
    first.end();
    first.end();
    expect(() => guard.begin('acct_1', ignore).add(unit)).not.toThrow();
    expect(() => guard.begin('acct_1', ignore).add(unit)).toThrow(overloaded);
  });

  it('of all accounts take no more than the limit of all, and short ones take nothing', () => {
    start();
    for (const account of ['acct_1', 'acct_2']) guard.begin(account, ignore).add(2 * unit);
    expect(() => guard.begin('acct_3', ignore).add(unit)).toThrow(overloaded);
    for (let body = 0; body < 10; body += 1) guard.begin('acct_3', ignore).add(unit - 1);
  });
});
