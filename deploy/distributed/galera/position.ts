// Reads the position that a Galera node reports when it recovers, and finds the most advanced of several nodes. Pure.

/** The last transaction on a node's disk. */
export interface Position {
  /** UUID of the cluster; all zeros for a node that has never been in one. */
  readonly cluster: string;
  /** Sequence number of the transaction; -1 if there is none. */
  readonly transaction: bigint;
}

const noCluster = '00000000-0000-0000-0000-000000000000';

/** Returns the position in the output of a server run with --wsrep-recover, or undefined if the server failed before reporting one. */
export function positionIn(output: string): Position | undefined {
  const [, cluster, transaction] = /Recovered position: ([0-9a-f-]{36}):(-?\d+)/.exec(output) ?? [];
  return cluster === undefined || transaction === undefined ? undefined : { cluster, transaction: BigInt(transaction) };
}

/**
 * Returns the node with the highest transaction, the first of them if several have it, or undefined if `nodes` is empty. Raises an Error
 * if the nodes belong to different clusters, because their transactions cannot be compared.
 */
export function mostAdvanced<Node extends { readonly name: string; readonly position: Position }>(
  nodes: readonly Node[],
): Node | undefined {
  const members = nodes.filter(({ position }) => position.cluster !== noCluster);
  if (new Set(members.map(({ position }) => position.cluster)).size > 1) {
    const found = members.map(({ name, position }) => `${name}: ${position.cluster}:${position.transaction}`).join(', ');
    throw new Error(
      `The Galera nodes have data of different clusters (${found}), so that none can be chosen to bootstrap from. Remove the folders of the nodes whose data you do not need.`,
    );
  }
  let best: Node | undefined;
  for (const node of nodes) {
    if (best === undefined || node.position.transaction > best.position.transaction) best = node;
  }
  return best;
}
