// After all nodes have stopped: which of them knows most, and may found the cluster anew.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../mariadb/programs.js';
import { type ClusterPlan, type NodePlace, nodeOptions } from './node.js';
import { mostAdvanced, type Position, positionIn } from './position.js';

/**
 * The node to found the cluster with: the one with the highest transaction on its disk, which holds all that was acknowledged;
 * undefined when no node has data. The node that was written to need not be it. Its permission to found is written, and what
 * the nodes remember of the last group of theirs is removed. Raises an Error when a node has data but does not say how far it came,
 * for it may hold what no other node holds; when none has whole data; and when they are of different clusters.
 */
export function findFounder(plan: ClusterPlan): NodePlace | undefined {
  const known = plan.places.filter((place) => existsSync(stateOf(place)));
  if (known.length === 0) return undefined;
  const whole = known.flatMap((place) => {
    const position = positionOf(plan, place);
    return position === undefined ? [] : [{ name: place.name, place, position }];
  });
  const best = mostAdvanced(whole);
  if (best === undefined) throw new Error('No Galera node has whole data: each was still receiving them from another one.');
  for (const { folder } of known) rmSync(join(folder, 'data', 'gvwstate.dat'), { force: true });
  const state = stateOf(best.place);
  writeFileSync(state, readFileSync(state, 'utf8').replace(/safe_to_bootstrap: \d/, 'safe_to_bootstrap: 1'));
  rmSync(transferMarkOf(best.place), { force: true });
  return best.place;
}

function stateOf({ folder }: NodePlace): string {
  return join(folder, 'data', 'grastate.dat');
}

/** There while the node receives data from another one; made and removed by Debian's wsrep_sst_rsync. */
function transferMarkOf({ folder }: NodePlace): string {
  return join(folder, 'data', 'sst_in_progress');
}

// The server replays its own log and says how far it came. Undefined when its data are half a transfer,
// which is no loss: another node has them.
function positionOf({ places, runAs }: ClusterPlan, place: NodePlace): Position | undefined {
  const data = join(place.folder, 'data');
  const result = spawnSync(
    findProgram('mariadbd'),
    [
      '--no-defaults',
      `--datadir=${data}`,
      ...nodeOptions(place, places, true),
      '--wsrep-recover',
      '--skip-networking',
      '--socket=recover.sock',
      '--pid-file=recover.pid',
    ],
    { ...runAs, cwd: data, encoding: 'utf8' },
  );
  const position = positionIn(result.stderr ?? '');
  if (position !== undefined || existsSync(transferMarkOf(place))) return position;
  const log = join(place.folder, 'recovery.log');
  writeFileSync(log, result.stderr ?? String(result.error));
  throw new Error(
    `Galera node ${place.name} does not say how far it came, and may hold what no other node holds; ${log} says why. ` +
      `If the others hold all, remove ${place.folder}, and it receives their data.`,
  );
}
