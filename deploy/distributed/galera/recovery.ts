// Finds the node with the most recent data after all nodes have stopped, so that the cluster can be bootstrapped from it.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../mariadb/programs.js';
import { type ClusterPlan, type NodePlace, nodeOptions } from './node.js';
import { mostAdvanced, type Position, positionIn } from './position.js';

/**
 * Returns the node to bootstrap the cluster with: the one with the highest transaction on its disk, which has every acknowledged
 * transaction. It need not be the node that clients wrote to. Returns undefined if no node has data. Marks that node as safe to
 * bootstrap, and removes what the nodes remember of their last primary component. Raises an Error if a node has data but its recovered
 * position is unknown, because it may have transactions that no other node has; if no node has complete data; and if the nodes belong
 * to different clusters.
 */
export function findBootstrapNode(plan: ClusterPlan): NodePlace | undefined {
  const withData = plan.places.filter((place) => existsSync(stateOf(place)));
  if (withData.length === 0) return undefined;
  const complete = withData.flatMap((place) => {
    const position = positionOf(plan, place);
    return position === undefined ? [] : [{ name: place.name, place, position }];
  });
  const best = mostAdvanced(complete);
  if (best === undefined) throw new Error('No Galera node has complete data: each was still receiving its data from another node.');
  for (const { folder } of withData) rmSync(join(folder, 'data', 'gvwstate.dat'), { force: true });
  const state = stateOf(best.place);
  writeFileSync(state, readFileSync(state, 'utf8').replace(/safe_to_bootstrap: \d/, 'safe_to_bootstrap: 1'));
  rmSync(transferMarkOf(best.place), { force: true });
  return best.place;
}

function stateOf({ folder }: NodePlace): string {
  return join(folder, 'data', 'grastate.dat');
}

/** Returns the path of the file that exists while the node receives data from another node. Debian's wsrep_sst_rsync creates and removes it. */
function transferMarkOf({ folder }: NodePlace): string {
  return join(folder, 'data', 'sst_in_progress');
}

// Has the server replay its log and report its position. Returns undefined if a transfer to the node was interrupted, which loses
// nothing because another node has the data.
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
    `The position of Galera node ${place.name} could not be recovered (see ${log}), so it may have transactions that no other node has. ` +
      `If the other nodes have everything, remove ${place.folder}; the node then receives their data.`,
  );
}
