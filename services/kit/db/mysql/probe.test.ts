// Tests what a probe reports for each state of a server. The server that mysql2 offers stands for a node of a cluster.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:net';
import { type Connection, createConnection } from 'mysql2';
import { listen } from '../../testing/local-server.js';
import type { MysqlHost } from './address.js';
import { faultOf, isDead, troubleOf } from './probe.js';

/** A connection whose types lack the number of the next packet, which starts again with each command. */
type ServedConnection = Connection & { sequenceId: number };

const login = { user: 'me', password: 'secret' };
const timeoutMs = 10_000;
const varchar = {
  catalog: '',
  schema: '',
  table: '',
  orgTable: '',
  characterSet: 45,
  columnLength: 100,
  columnType: 253,
  flags: 0,
  decimals: 0,
};
const columns = ['Variable_name', 'Value'].map((name) => ({ ...varchar, name, orgName: name }));
const synced = { wsrep_on: 'ON', wsrep_cluster_status: 'Primary', wsrep_ready: 'ON', wsrep_local_state: '4' };

describe('a server', () => {
  let variables: Record<string, string>;
  let server: Server;
  let host: MysqlHost;

  beforeEach(async () => {
    server = createServer((stream) => {
      const connection = createConnection({ isServer: true, stream }) as ServedConnection;
      connection.on('error', () => undefined);
      connection.serverHandshake({
        protocolVersion: 10,
        serverVersion: '',
        connectionId: 1,
        statusFlags: 2,
        characterSet: 45,
        capabilityFlags: 0xffffff,
        authCallback(_login: object, done: (error: null) => void) {
          done(null);
          connection.sequenceId = 0;
        },
      });
      connection.on('query', (sql: string) => {
        const rows = Object.entries(variables).map(([name, value]) => ({ Variable_name: name, Value: value }));
        connection.writeTextResult(
          rows.filter((row) => sql.includes(`'${row.Variable_name}'`)),
          columns,
        );
        connection.sequenceId = 0;
      });
    });
    host = { host: '127.0.0.1', port: await listen(server) };
  });

  afterEach(() => new Promise<void>((done) => server.close(() => done())));

  it.each<[string | undefined, Record<string, string>]>([
    [undefined, { read_only: 'OFF' }],
    ['it is read-only', { read_only: 'ON' }],
    [undefined, { wsrep_on: 'OFF', wsrep_cluster_status: 'Disconnected' }],
    [undefined, synced],
    ['it is read-only', { ...synced, read_only: 'ON' }],
    ["it is not in its cluster's primary component", { ...synced, wsrep_cluster_status: 'non-Primary' }],
    ['it is not in sync with its cluster yet', { ...synced, wsrep_ready: 'OFF' }],
    ['it is not in sync with its cluster yet', { ...synced, wsrep_local_state: '2' }],
  ])('has the fault %j in the state %j', async (fault, state) => {
    variables = state;
    expect(await faultOf(host, login, timeoutMs)).toBe(fault);
    expect(await isDead(host, login, timeoutMs)).toBe(false);
  });

  it.each<[string | undefined, Record<string, string>]>([
    [undefined, synced],
    [undefined, { ...synced, wsrep_local_state: '2' }],
    [undefined, { ...synced, wsrep_ready: 'OFF', wsrep_local_state: '1' }],
    ['stuckDonor', { ...synced, wsrep_ready: 'OFF', wsrep_local_state: '2' }],
    ['outside', { ...synced, wsrep_cluster_status: 'non-Primary', wsrep_local_state: '2' }],
  ])('has the trouble %j in the state %j', async (trouble, state) => {
    variables = state;
    expect(await troubleOf(host, login, timeoutMs)).toBe(trouble);
  });
});
