// Which statements a trace contains, and which of their data it must not contain.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { createTestDatabase, type TestDatabase, testEngines } from '../../testing/database.js';
import { type RecordedTraces, recordTraces } from '../../testing/traces.js';

let traces: RecordedTraces;
beforeAll(() => {
  traces = recordTraces();
});
afterAll(() => traces.stop());

async function serverOf({ db }: TestDatabase): Promise<'mariadb' | 'mysql'> {
  const [row] = await db.query('SELECT VERSION() AS version', []);
  return String(row!['version']).includes('MariaDB') ? 'mariadb' : 'mysql';
}

describe.each(testEngines)('statements on %s', (engine) => {
  let test: TestDatabase;
  let system: string;
  beforeAll(async () => {
    test = await createTestDatabase(engine);
    system = engine === 'sqlite' ? engine : await serverOf(test);
    await test.db.knex.raw('CREATE TABLE thing (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL)');
  });
  afterAll(() => test.drop());
  afterEach(() => traces.reset());

  async function traced(work: () => Promise<unknown>): Promise<string> {
    return trace.getTracer('test').startActiveSpan('call', async (span) => {
      await work().catch(() => {});
      span.end();
      return span.spanContext().spanId;
    });
  }

  it('of a traced call are its children, also in transactions, without the values', async () => {
    const parent = await traced(() => test.db.transaction(async (tx) => tx('thing').insert({ id: 1, name: 'a secret name' })));
    const insert = traces.spans().find((span) => span.name === 'INSERT thing');
    expect(insert?.parentSpanContext?.spanId).toBe(parent);
    expect(insert?.attributes).toMatchObject({
      'db.system.name': system,
      'db.namespace': expect.any(String),
      'db.operation.name': 'INSERT',
      'db.collection.name': 'thing',
    });
    expect(JSON.stringify(traces.spans().map((span) => [span.attributes, span.events]))).not.toContain('a secret name');
  });

  it('of a plain transaction are children too, and record failures', async () => {
    const insert = 'INSERT INTO thing (id, name) VALUES (?, ?)';
    const twice = () =>
      test.db.plainTransaction(async (tx) => (await tx.run(insert, [3, 'a secret name'])) + (await tx.run(insert, [3, 'a secret name'])));
    const parent = await traced(twice);
    const inserts = traces.spans().filter((span) => span.name === 'INSERT thing');
    expect(inserts.map((span) => [span.parentSpanContext?.spanId, span.status.code])).toEqual([
      [parent, 0],
      [parent, 2],
    ]);
    expect(inserts[0]?.attributes).toMatchObject({ 'db.system.name': system, 'db.operation.name': 'INSERT', 'db.query.text': insert });
    expect(JSON.stringify(inserts.map((span) => [span.attributes, span.events, span.status]))).not.toContain('secret');
  });

  it('record failures', async () => {
    await test.db.knex('thing').insert({ id: 2, name: 'first' });
    await traced(() => test.db.knex('thing').insert({ id: 2, name: 'a secret name' }));
    const insert = traces.spans().find((span) => span.name === 'INSERT thing');
    expect(insert?.status.code).toBe(2);
    expect(JSON.stringify([insert?.attributes, insert?.events, insert?.status])).not.toContain('secret');
  });

  it('outside a trace create no span', async () => {
    await test.db.knex('thing').select('id');
    expect(traces.spans()).toHaveLength(0);
  });
});
