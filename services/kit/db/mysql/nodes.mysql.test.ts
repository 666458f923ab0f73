// Failover between hosts, each a proxy to the one server of the test that behaves as a cluster node would.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase, testEngines } from '../../testing/database.js';
import { recordingLogger } from '../../testing/log.js';
import { eventually } from '../../testing/waiting.js';
import { type Database, openDatabase } from '../open.js';

/** A proxy to the server that can be closed, can end new connections, or can fall silent as a server process does when it is stopped (SIGSTOP). */
class Proxy {
  readonly sockets = new Set<Socket>();
  isSilent = false;
  endsConnections = false;
  connections = 0;
  port = 0;
  private server: Server | undefined;

  constructor(private readonly target: { host: string; port: number }) {}

  async open(): Promise<void> {
    this.server = createServer((client) => {
      this.connections += 1;
      if (this.endsConnections) return void client.destroy();
      const upstream = connect(this.target.port, this.target.host);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.sockets.add(from);
        from.on('data', (bytes) => this.isSilent || to.write(bytes));
        from.on('error', () => undefined).on('close', () => to.destroy());
      }
    });
    await new Promise<void>((done) => this.server!.listen(this.port, '127.0.0.1', done));
    this.port = (this.server.address() as { port: number }).port;
  }

  async kill(): Promise<void> {
    for (const socket of this.sockets) socket.resetAndDestroy();
    await new Promise((done) => this.server!.close(done));
  }
}

for (const engine of testEngines.filter((each) => each === 'mysql'))
  describe(`a ${engine} address with several hosts`, () => {
    const { log, lines } = recordingLogger();
    let test: TestDatabase;
    let first: Proxy;
    let second: Proxy;
    let url: string;
    let db: Database;

    beforeEach(async () => {
      test = await createTestDatabase(engine);
      await test.db.knex.raw('CREATE TABLE thing (id INT NOT NULL PRIMARY KEY)');
      const server = new URL(test.url);
      [first, second] = [0, 1].map(() => new Proxy({ host: server.hostname, port: Number(server.port) })) as [Proxy, Proxy];
      await first.open();
      await second.open();
      lines.length = 0;
      url = test.url.replace(/@[^/]*/, `@127.0.0.1:${first.port},127.0.0.1:${second.port}`);
      db = openDatabase(url, { log });
    });

    afterEach(async () => {
      await db.close();
      await Promise.all([first.kill(), second.kill()]);
      await test.drop();
    });

    const insert = (id: number): Promise<number> => db.plainTransaction((tx) => tx.run('INSERT INTO thing (id) VALUES (?)', [id]));
    const stored = async (): Promise<number[]> =>
      (await test.db.knex('thing').select('id').orderBy('id')).map((row: { id: number }) => row.id);

    it('opens all connections to the first host', async () => {
      await Promise.all([1, 2, 3, 4].map(insert));
      await db.knex('thing').select('id');
      // The second one was probed once for whether it is writable.
      expect(second.connections).toBe(1);
      expect(await stored()).toEqual([1, 2, 3, 4]);
    });

    it('switches to the second host when the first is unavailable, and stays there when the first is back', async () => {
      await insert(1);
      await first.kill();
      await insert(2);
      await first.open();
      const before = second.connections;
      await Promise.all([3, 4, 5].map(insert));
      expect(second.connections).toBeGreaterThan(before);
      expect(await stored()).toEqual([1, 2, 3, 4, 5]);
      expect(lines.map((line) => line['msg'])).toEqual([
        'this database node failed; choosing another',
        'writing to this database node from now on',
      ]);
    });

    it('retries a transaction that a lost host interrupted', async () => {
      let runs = 0;
      await db.plainTransaction(async (tx) => {
        await tx.run('INSERT INTO thing (id) VALUES (?)', [7]);
        if (++runs === 1) await first.kill();
        await tx.run('INSERT INTO thing (id) VALUES (?)', [8]);
      });
      expect([runs, await stored()]).toEqual([2, [7, 8]]);
      await first.open();
    });

    it.each(['transaction', 'plainTransaction'] as const)(
      'detects in a %s that a host is silent',
      async (method) => {
        await insert(1);
        let runs = 0;
        const id = (): number => {
          if (++runs === 1) first.isSilent = true;
          return 2;
        };
        const startedMs = performance.now();
        if (method === 'transaction') await db.transaction((tx) => tx('thing').insert({ id: id() }));
        else await db.plainTransaction((tx) => tx.run('INSERT INTO thing (id) VALUES (?)', [id()]));
        expect(performance.now() - startedMs).toBeLessThan(10_000);
        expect([runs, await stored()]).toEqual([2, [1, 2]]);
      },
      20_000,
    );

    it('fails statements that wait on a silent host after other connections have already switched', async () => {
      await insert(1);
      first.isSilent = true;
      // One waits on the open connection. Another opens a new connection, and switches before the first has been silent for long enough.
      await Promise.all([insert(2), insert(3)]);
      expect(await stored()).toEqual([1, 2, 3]);
    }, 20_000);

    it.each([1026, 1290, 1047])('switches to the second host when the first cannot write, or has left its cluster (%i)', async (errno) => {
      await insert(1);
      await expect(db.knex.raw(`SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${errno}`)).rejects.toMatchObject({ errno });
      const before = second.connections;
      await insert(2);
      expect(second.connections).toBeGreaterThan(before);
      expect(await stored()).toEqual([1, 2]);
      expect(lines.map((line) => line['msg'])).toEqual([
        'this database node failed; choosing another',
        'writing to this database node from now on',
      ]);
    });

    it('switches to the second host when no connection to the first is open', async () => {
      const read = () => db.knex('thing').select('id');
      await read();
      await first.kill();
      const { free } = db.knex.client.pool as { free: { resource: { stream: Socket } }[] };
      await eventually(() => (free.length > 0 && free.every(({ resource }) => resource.stream.destroyed) ? true : undefined));
      expect(await read()).toEqual([]);
      await first.open();
    });

    it('waits for a host to come back when all have failed', async () => {
      await insert(1);
      second.endsConnections = true;
      await first.kill();
      const before = second.connections;
      const comesBack = async (): Promise<void> => {
        // The second is probed once more, so the first was found to be unavailable.
        await eventually(() => (second.connections >= before + 2 ? true : undefined));
        await first.open();
      };
      await Promise.all([insert(2), comesBack()]);
      expect(await stored()).toEqual([1, 2]);
    });

    it('uses no connection to a host that it has left', async () => {
      const read = () => db.knex('thing').select('id');
      await Promise.all([insert(1), read()]);
      await expect(db.knex.raw("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290")).rejects.toMatchObject({ errno: 1290 });
      await insert(2);
      // The connections to it are still open, but no statement would return.
      first.isSilent = true;
      expect(await read()).toEqual([{ id: 1 }, { id: 2 }]);
      await insert(3);
    });

    it('does not leave a host that refuses a connection for another reason', async () => {
      const other = openDatabase(`${url}_of_nobody`, { log });
      await expect(other.knex.raw('SELECT 1')).rejects.toMatchObject({ errno: 1049 });
      await other.close();
      expect(lines).toEqual([]);
    });

    it('does not end a slow statement', async () => {
      await db.knex.raw('SELECT SLEEP(4)');
      expect(lines).toEqual([]);
    }, 20_000);

    it('does not retry a transaction whose COMMIT may have taken effect, unless it is declared repeatable', async () => {
      const cutAtCommit = async (id: number, isRepeatable: boolean): Promise<number> => {
        let runs = 0;
        await db.plainTransaction(
          async (tx) => {
            const [known] = await tx.query('SELECT id FROM thing WHERE id = ?', [id]);
            if (known === undefined) await tx.run('INSERT INTO thing (id) VALUES (?)', [id]);
            if (++runs === 1) for (const socket of [...first.sockets, ...second.sockets]) socket.resetAndDestroy();
          },
          { isRepeatable },
        );
        return runs;
      };
      await expect(cutAtCommit(1, false)).rejects.toMatchObject({ fatal: true });
      expect(await cutAtCommit(2, true)).toBe(2);
      expect(await stored()).toContain(2);
    });

    it('reports for each host why it cannot be used', async () => {
      await first.kill();
      second.isSilent = true;
      await expect(insert(1)).rejects.toThrow(
        new RegExp(`:${first.port}: .*ECONNREFUSED.*127.0.0.1:${second.port}: (it does not respond|connect ETIMEDOUT)`),
      );
      await first.open();
    }, 20_000);
  });
