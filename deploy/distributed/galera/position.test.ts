import { describe, expect, it } from '@jest/globals';
import { mostAdvanced, positionIn } from './position.js';

const ours = '3f1c6f0a-c651-11f0-9b7e-5a1d0f2c4b6e';
const theirs = '7e2d9b1c-c651-11f0-8a6d-1b2c3d4e5f60';
const none = '00000000-0000-0000-0000-000000000000';
const node = (name: string, cluster: string, transaction: bigint) => ({ name, position: { cluster, transaction } });

describe('positionIn', () => {
  it('returns the position that the server recovered', () => {
    const line = (position: string): string => `InnoDB: started\n2026-01-01  0:00:00 0 [Note] WSREP: Recovered position: ${position}\n`;
    expect(positionIn(line(`${ours}:1234,0-1-99`))).toEqual({ cluster: ours, transaction: 1234n });
    expect(positionIn(line(`${none}:-1`))).toEqual({ cluster: none, transaction: -1n });
  });

  it('returns undefined when the recovery failed', () => {
    expect(positionIn('[ERROR] InnoDB: Unable to lock ./ibdata1 error: 11\n[ERROR] Aborting\n')).toBeUndefined();
    expect(positionIn('')).toBeUndefined();
  });
});

describe('mostAdvanced', () => {
  it('returns the node with the highest transaction, the first of them on a tie', () => {
    expect(mostAdvanced([node('n1', ours, 9n), node('n2', ours, 10n), node('n3', ours, 10n)])!.name).toBe('n2');
  });

  it('prefers a node with a transaction to a node without one', () => {
    expect(mostAdvanced([node('n1', none, -1n), node('n2', ours, 3n), node('n3', ours, -1n)])!.name).toBe('n2');
  });

  it('returns undefined when there are no nodes', () => {
    expect(mostAdvanced([])).toBeUndefined();
  });

  it('refuses to compare nodes of different clusters', () => {
    expect(() => mostAdvanced([node('n1', ours, 5n), node('n2', theirs, 900n)])).toThrow(`n1: ${ours}:5, n2: ${theirs}:900`);
  });
});
