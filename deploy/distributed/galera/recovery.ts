// After all nodes have stopped: which of them knows most, and may found the cluster anew.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../mariadb/programs.js';
import { type ClusterPlan, type NodePlace, nodeOptions } from './node.js';

/**
 * The node to found the cluster with: the one with the highest transaction on its disk, which holds all that was acknowledged;
 * undefined when no node has data. The node that was written to need not be it. Its permission to found is written, and what
 * the nodes remember of the last group of theirs is removed.
 */
export function findFounder(plan: ClusterPlan): NodePlace | undefined {
  const known = plan.places.filter(({ folder }) => existsSync(join(folder, 'data', 'grastate.dat')));
  const positions = known.map((place) => ({ place, position: positionOf(plan, place) }));
  for (const { folder } of known) rmSync(join(folder, 'data', 'gvwstate.dat'), { force: true });
  // Of equals the first, which is the one that is written to.
  const [best] = positions.toSorted((a, b) => (a.position === b.position ? 0 : a.position < b.position ? 1 : -1));
  if (best === undefined) return undefined;
  const state = join(best.place.folder, 'data', 'grastate.dat');
  writeFileSync(state, readFileSync(state, 'utf8').replace(/safe_to_bootstrap: \d/, 'safe_to_bootstrap: 1'));
  return best.place;
}

// The server replays its own log and says how far it came. A node whose data are half a transfer has no position.
function positionOf({ places, runAs }: ClusterPlan, place: NodePlace): bigint {
  const data = join(place.folder, 'data');
  const result = spawnSync(
    findProgram('mariadbd'),
    ['--no-defaults', `--datadir=${data}`, ...nodeOptions(place, places, true), '--wsrep-recover', '--skip-networking', '--socket=recover.sock', '--pid-file=recover.pid'],
    { ...runAs, cwd: data, encoding: 'utf8' },
  );
  const position = /Recovered position: [0-9a-f-]+:(-?\d+)/.exec(result.stderr)?.[1];
  return position === undefined ? -2n : BigInt(position);
}
