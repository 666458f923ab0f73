// How far a node of a Galera cluster came, by what its server says when it recovers, and which of several nodes knows most. Pure.

/** A node's last transaction on its disk. */
export interface Position {
  /** The cluster's; all zeros for a node that was in none. */
  readonly cluster: string;
  /** -1 when it has none. */
  readonly transaction: bigint;
}

const noCluster = '00000000-0000-0000-0000-000000000000';

/** The position in what a server printed under --wsrep-recover; undefined when it did not come that far. */
export function positionIn(output: string): Position | undefined {
  const [, cluster, transaction] = /Recovered position: ([0-9a-f-]{36}):(-?\d+)/.exec(output) ?? [];
  return cluster === undefined || transaction === undefined ? undefined : { cluster, transaction: BigInt(transaction) };
}

/**
 * The node with the highest transaction, and of equals the first; undefined when there are none. Raises an Error when the nodes are
 * of different clusters, whose transactions cannot be compared.
 */
export function mostAdvanced<Node extends { readonly name: string; readonly position: Position }>(
  nodes: readonly Node[],
): Node | undefined {
  const members = nodes.filter(({ position }) => position.cluster !== noCluster);
  if (new Set(members.map(({ position }) => position.cluster)).size > 1) {
    const found = members.map(({ name, position }) => `${name}: ${position.cluster}:${position.transaction}`).join(', ');
    throw new Error(
      `The Galera nodes hold the data of different clusters (${found}), so none can stand for all. Remove the folders of the nodes whose data are not wanted.`,
    );
  }
  let best: Node | undefined;
  for (const node of nodes) {
    if (best === undefined || node.position.transaction > best.position.transaction) best = node;
  }
  return best;
}
