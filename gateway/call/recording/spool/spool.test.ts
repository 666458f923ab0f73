import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { Outcome, RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { systemClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { recordedTraceId } from '#kit/telemetry/traces/recorded-trace.js';
import { type LogLine, recordingLogger } from '#kit/testing/log.js';
import { recordTraces } from '#kit/testing/traces.js';
import { localOccupancy, occupancyMemory, sharedOccupancy } from '../../../http/occupancy.js';
import { createSpool, type Spool, type SpoolDeps } from './spool.js';

let base: string;
let folder: string;
const running: Spool[] = [];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'tollgate-spool-'));
  folder = join(base, 'spool');
});

afterEach(async () => {
  for (const spool of running.splice(0)) await spool.stop();
  rmSync(base, { recursive: true, force: true });
});

interface World {
  spool: Spool;
  /** The reports that metering recorded, in order. */
  posted: RecordUsageRequest[];
  lines: LogLine[];
}

/** Starts a spool over a fake metering service that handles each report with `play`. */
async function start(
  play: (request: RecordUsageRequest) => void | Promise<void> = () => undefined,
  limits: Partial<SpoolDeps> = {},
): Promise<World> {
  const posted: RecordUsageRequest[] = [];
  const { log, lines } = recordingLogger();
  const spool = createSpool({
    folder,
    root: limits.folder ?? folder,
    occupancy: localOccupancy(),
    bytesMax: 1_000_000,
    reportsMax: 1000,
    ...limits,
    async post(request) {
      await play(request);
      posted.push(request);
    },
    clock: systemClock,
    log,
  });
  await spool.start();
  running.push(spool);
  return { spool, posted, lines };
}

const report = (fields: object = {}): RecordUsageRequest =>
  RecordUsageRequest.fromPartial({
    call: { id: newId('req'), accountId: newId('acct') },
    tokens: { outputTokens: 7 },
    outcome: Outcome.OUTCOME_COMPLETED,
    ...fields,
  });
const idsOf = (reports: readonly RecordUsageRequest[]): string[] => reports.map((each) => each.call!.id);
const throwUnavailable = (): never => {
  throw new AppError('service_unavailable', 'Unavailable.');
};
const files = (at = folder): string[] =>
  readdirSync(at)
    .filter((name) => name.endsWith('.spool'))
    .sort();

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; !(await check()); waitedMs += 5) {
    if (waitedMs > 8000) throw new Error('It never came true.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Returns the files that a process killed at this moment leaves behind. */
function remains(): string {
  const copy = join(base, `copy-${readdirSync(base).length}`);
  mkdirSync(copy);
  for (const name of readdirSync(folder)) if (!name.startsWith('lock')) cpSync(join(folder, name), join(copy, name));
  return copy;
}

describe('a spool', () => {
  it('posts reports unchanged and in order, and then keeps no file', async () => {
    let isUnavailable = true;
    const { spool, posted } = await start(() => void (isUnavailable && throwUnavailable()));
    const reports = [report({ outcomeDetail: 'a b\nc' }), report({ free: true }), report()];
    for (const each of reports) await spool.append(each);
    expect(await spool.state()).toEqual({ waiting: 3, refused: 0, damagedFiles: 0 });
    isUnavailable = false;
    await until(async () => (await spool.state()).waiting === 0);
    expect(new Set(idsOf(posted))).toEqual(new Set(idsOf(reports)));
    expect(posted.find((each) => each.call!.id === reports[0]!.call!.id)).toEqual(reports[0]);
    await until(() => files().length === 0);
  });

  it('has a report on disk before it acknowledges it, at whichever moment the process is killed', async () => {
    const { spool } = await start(throwUnavailable);
    const durable: string[] = [];
    const copies: { copy: string; durable: string[] }[] = [];
    for (let count = 0; count < 5; count += 1) {
      const batch = Array.from({ length: 1 + count * 3 }, () => report());
      await Promise.all(batch.map((each) => spool.append(each)));
      durable.push(...idsOf(batch));
      copies.push({ copy: remains(), durable: [...durable] });
    }
    for (const { copy, durable: expected } of copies) {
      const { posted } = await start(undefined, { folder: copy });
      await until(() => posted.length === expected.length);
      expect(idsOf(posted)).toEqual(expected);
    }
  });

  it('posts a report in the trace of its call, also after a restart', async () => {
    const traces = recordTraces();
    const { spool } = await start(throwUnavailable);
    const traceId = await trace.getTracer('test').startActiveSpan('call', async (span) => {
      await spool.append(report());
      span.end();
      return span.spanContext().traceId;
    });
    await spool.append(report());
    const seen: string[] = [];
    const { posted } = await start(() => void seen.push(recordedTraceId()), { folder: remains() });
    await until(() => posted.length === 2);
    expect(seen).toEqual([traceId, '']);
    await traces.stop();
  });

  it('writes reports that arrive together with one write', async () => {
    const { spool } = await start(throwUnavailable);
    const first = spool.append(report());
    await Promise.all([first, ...Array.from({ length: 200 }, () => spool.append(report()))]);
    expect(files()).toHaveLength(1);
    expect((await spool.state()).waiting).toBe(201);
  });

  it('loses no complete report when a write is cut off at any byte', async () => {
    const { spool } = await start(throwUnavailable);
    const reports = [report(), report(), report()];
    const ends: number[] = [];
    for (const each of reports) {
      await spool.append(each);
      ends.push(statSync(join(folder, files()[0]!)).size);
    }
    const copy = remains();
    const whole = readFileSync(join(copy, files(copy)[0]!));
    for (let bytes = whole.length; bytes >= 0; bytes -= 29) {
      const cut = join(base, `cut-${bytes}`);
      mkdirSync(cut);
      writeFileSync(join(cut, files(copy)[0]!), whole.subarray(0, bytes));
      const { spool: next, posted, lines } = await start(undefined, { folder: cut });
      await until(async () => (await next.state()).waiting === 0);
      expect(idsOf(posted)).toEqual(idsOf(reports.slice(0, ends.filter((end) => end <= bytes).length)));
      expect(lines.filter((line) => line['level'] === 'error')).toEqual([]);
      await until(() => files(cut).length === 0);
    }
  });

  it('keeps a damaged file, reports it, and posts its readable lines', async () => {
    const { spool } = await start(throwUnavailable);
    const reports = [report(), report(), report()];
    for (const each of reports) await spool.append(each);
    const copy = remains();
    const path = join(copy, files(copy)[0]!);
    const content = readFileSync(path);
    content[content.indexOf('\n') + 60] = 33;
    writeFileSync(path, content);
    writeFileSync(join(copy, '000000000000001-000001.spool'), 'nothing of ours\n');
    mkdirSync(join(copy, '000000000000002-000001.spool'));
    const { spool: next, posted, lines } = await start(undefined, { folder: copy });
    await until(async () => (await next.state()).waiting === 0 && files(copy).length === 0);
    expect(idsOf(posted)).toEqual([reports[0]!.call!.id, reports[2]!.call!.id]);
    expect(lines.filter((line) => line['level'] === 'error')).toHaveLength(3);
    await next.stop();
    const { spool: third } = await start(undefined, { folder: copy });
    expect(await third.state()).toMatchObject({ waiting: 0, damagedFiles: 3 });
  });

  it('keeps reports that metering permanently rejects, for operators, and posts the others', async () => {
    const bad = report();
    const { spool, posted, lines } = await start((request) => {
      if (request.call!.id === bad.call!.id) throw new AppError('call_closed', 'Lost.');
    });
    const good = [report(), report()];
    await Promise.all([good[0]!, bad, good[1]!].map((each) => spool.append(each)));
    await until(async () => (await spool.state()).waiting === 0);
    expect(idsOf(posted)).toEqual(idsOf(good));
    expect((await spool.state()).refused).toBe(1);
    const kept = JSON.parse(readFileSync(join(folder, 'refused.jsonl'), 'utf8')) as { call_id: string; reason: string; report: string };
    expect(kept).toMatchObject({ call_id: bad.call!.id, reason: 'call_closed' });
    expect(RecordUsageRequest.decode(Buffer.from(kept.report, 'base64'))).toEqual(bad);
    expect(lines.filter((line) => line['level'] === 'error')).toEqual([expect.objectContaining({ call_id: bad.call!.id })]);
    await spool.stop();
    expect(await (await start()).spool.state()).toEqual({ waiting: 0, refused: 1, damagedFiles: 0 });
  });

  it.each(['invalid_request', 'call_closed', 'idempotency_mismatch'] as const)(
    'does not post a report again that metering rejected as %s',
    async (reason) => {
      const { spool } = await start(() => {
        throw new AppError(reason, 'Rejected.');
      });
      await spool.append(report());
      await until(async () => (await spool.state()).waiting === 0);
      expect((await spool.state()).refused).toBe(1);
    },
  );

  it('reports the status of the spools of all threads', async () => {
    const memory = occupancyMemory(2);
    const [one, two] = await Promise.all(
      [1, 2].map((thread) => {
        const shared = { root: folder, folder: join(folder, String(thread)), occupancy: sharedOccupancy(memory, thread) };
        return start(
          thread === 1
            ? throwUnavailable
            : () => {
                throw new AppError('call_closed', 'Lost.');
              },
          shared,
        );
      }),
    );
    await one!.spool.append(report());
    await two!.spool.append(report());
    // A refused report is counted as refused a moment before it is no longer waiting.
    for (const { spool } of [one!, two!])
      await until(async () => (await spool.state()).refused === 1 && (await spool.state()).waiting === 1);
    for (const { spool } of [one!, two!]) expect(await spool.state()).toEqual({ waiting: 1, refused: 1, damagedFiles: 0 });
  });

  it('does not delay other reports when single ones cannot be stored', async () => {
    const bad = Array.from({ length: 40 }, () => report());
    const badIds = new Set(idsOf(bad));
    let isMended = false;
    const { spool, posted } = await start((request) => {
      if (!isMended && badIds.has(request.call!.id)) throw new AppError('internal', 'Broken.');
    });
    for (const each of bad) await spool.append(each);
    const good = Array.from({ length: 5 }, () => report());
    for (const each of good) await spool.append(each);
    await until(() => posted.length === 5);
    expect(idsOf(posted)).toEqual(idsOf(good));
    isMended = true;
    await until(async () => (await spool.state()).waiting === 0);
  }, 30_000);

  it('posts only the last report of a call', async () => {
    let isUnavailable = true;
    const { spool, posted } = await start(() => void (isUnavailable && throwUnavailable()));
    const call = report().call!;
    await spool.append(report({ call }));
    await spool.append(report({ call, outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true }));
    const copy = remains();
    isUnavailable = false;
    await until(async () => (await spool.state()).waiting === 0 && files().length === 0);
    expect(posted).toEqual([expect.objectContaining({ outcome: Outcome.OUTCOME_GATEWAY_ERROR, free: true })]);
    const next = await start(undefined, { folder: copy });
    await until(async () => (await next.spool.state()).waiting === 0 && files(copy).length === 0);
    expect(next.posted).toEqual(posted);
  });

  it('posts a later report of a call that arrives while the earlier one is being posted', async () => {
    let answer: (() => void) | undefined;
    const { spool, posted } = await start(({ free }) => (free ? undefined : new Promise<void>((resolve) => (answer = resolve))));
    const { call } = report();
    await spool.append(report({ call }));
    await until(() => answer !== undefined);
    await spool.append(report({ call, free: true }));
    answer!();
    await until(async () => (await spool.state()).waiting === 0 && files().length === 0);
    expect(posted.map(({ free }) => free)).toEqual([false, true]);
  });

  it('posts a later report of a call that arrives while the earlier one is being kept as rejected', async () => {
    let rejectFirst = (): void => undefined;
    const memory = localOccupancy();
    const occupancy: SpoolDeps['occupancy'] = {
      spooled: () => memory.spooled(),
      countSpooled(change) {
        memory.countSpooled(change);
        rejectFirst();
      },
    };
    let isPosting = false;
    const { spool, posted } = await start(
      ({ free }) =>
        free
          ? undefined
          : new Promise<void>((_, reject) => {
              isPosting = true;
              rejectFirst = () => reject(new AppError('call_closed', 'Lost.'));
            }),
      { occupancy },
    );
    const { call } = report();
    await spool.append(report({ call }));
    await until(() => isPosting);
    // The first of these, once written, rejects the earlier report. The last is added before the disk has kept that report.
    const together = [...Array.from({ length: 100 }, () => report({ free: true })), report({ call, free: true })];
    await Promise.all(together.map((each) => spool.append(each)));
    await until(async () => (await spool.state()).waiting === 0 && files().length === 0);
    expect((await spool.state()).refused).toBe(1);
    expect(idsOf(posted).toSorted()).toEqual(idsOf(together).toSorted());
  });

  it('posts a single report to check whether metering is available again', async () => {
    let posts = 0;
    const { spool } = await start(() => {
      posts += 1;
      throwUnavailable();
    });
    await Promise.all(Array.from({ length: 100 }, () => spool.append(report())));
    await until(() => posts > 0);
    const before = posts;
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(posts - before).toBeLessThan(40);
  });

  it('stops once the reports that it was given are durable', async () => {
    const { spool } = await start(throwUnavailable);
    const ids: string[] = [];
    const appended = Promise.all(
      Array.from({ length: 3 }, async () => {
        const given = report();
        await spool.append(given);
        ids.push(given.call!.id);
      }),
    );
    await spool.stop();
    expect(ids).toHaveLength(3);
    await appended;
    const { posted } = await start();
    await until(() => posted.length === 3);
    expect(idsOf(posted).toSorted()).toEqual(ids.toSorted());
  });

  it('counts reports that are being written against its limits', async () => {
    const { spool } = await start(throwUnavailable, { bytesMax: 1000 });
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => spool.append(report())));
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(20);
    expect(refused.map((result) => (result as PromiseRejectedResult).reason.reason)).toEqual(refused.map(() => 'overloaded'));
  });

  it('accepts no more than its limits, and more once there is room', async () => {
    let isUnavailable = true;
    const { spool } = await start(() => void (isUnavailable && throwUnavailable()), { reportsMax: 2 });
    await spool.append(report());
    expect(await spool.hasRoom()).toBe(true);
    await spool.append(report());
    expect(await spool.hasRoom()).toBe(false);
    await expect(spool.append(report())).rejects.toMatchObject({ reason: 'overloaded' });
    isUnavailable = false;
    await until(async () => (await spool.state()).waiting === 0);
    expect(await spool.hasRoom()).toBe(true);
    await spool.append(report());
    const small = await start(throwUnavailable, { bytesMax: 100, folder: join(base, 'small') });
    await small.spool.append(report());
    await expect(small.spool.append(report())).rejects.toMatchObject({ reason: 'overloaded' });
  });

  it('has no room when its folder cannot be written', async () => {
    const { spool } = await start();
    rmSync(folder, { recursive: true });
    expect(await spool.hasRoom()).toBe(false);
    mkdirSync(folder);
  });

  it('accepts a later report of the same call even when it is full', async () => {
    let isUnavailable = true;
    const { spool, posted } = await start(() => void (isUnavailable && throwUnavailable()), { reportsMax: 1 });
    const { call } = report();
    await spool.append(report({ call }));
    await spool.append(report({ call, free: true }));
    await expect(spool.append(report())).rejects.toMatchObject({ reason: 'overloaded' });
    isUnavailable = false;
    await until(async () => (await spool.state()).waiting === 0);
    expect(posted).toEqual([expect.objectContaining({ free: true })]);
  });

  it('reserves room for reports when many have large answers', async () => {
    let isUnavailable = true;
    const { spool, posted, lines } = await start(() => void (isUnavailable && throwUnavailable()), { bytesMax: 100_000 });
    const large = Array.from({ length: 20 }, () => report({ storedAnswer: randomBytes(30_000) }));
    await Promise.all(large.map((each) => spool.append(each)));
    const small = Array.from({ length: 20 }, () => report());
    for (const each of small) await spool.append(each);
    isUnavailable = false;
    await until(async () => (await spool.state()).waiting === 0);
    expect(idsOf(posted).toSorted()).toEqual(idsOf([...large, ...small]).toSorted());
    expect(posted.filter(({ storedAnswer }) => storedAnswer.length > 0)).toEqual([large[0]]);
    expect(lines.filter(({ msg }) => String(msg).includes('no room for answers'))).toHaveLength(1);
  });

  it('is used by one process only, until it is stopped', async () => {
    const { spool } = await start();
    await expect(start()).rejects.toMatchObject({
      reason: 'failed_precondition',
      message: expect.stringContaining('TOLLGATE_GATEWAY_SPOOL_DIR'),
    });
    await spool.stop();
    expect(await spool.hasRoom()).toBe(false);
    await expect(spool.append(report())).rejects.toMatchObject({ reason: 'service_unavailable' });
    await start();
  });

  it('fails to start when its folder cannot be used', async () => {
    writeFileSync(folder, 'a file');
    await expect(start()).rejects.toMatchObject({ reason: 'failed_precondition', message: expect.stringContaining(folder) });
  });

  it('accepts reports again once its disk works', async () => {
    const { spool } = await start(throwUnavailable);
    rmSync(folder, { recursive: true });
    await expect(spool.append(report())).rejects.toMatchObject({ code: 'ENOENT' });
    mkdirSync(folder);
    await spool.append(report());
    expect((await spool.state()).waiting).toBe(1);
  });
});
