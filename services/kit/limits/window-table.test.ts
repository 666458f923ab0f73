import { describe, expect, it } from '@jest/globals';
import { Worker } from 'node:worker_threads';
import { clearWindows, subjectHash, windowMemory, type WindowSubject, WindowTable } from './window-table.js';

/** On the monotonic clock, which begins when the machine starts. */
const startMs = 40_250;

let subjects = 0;
function subject(limits: Partial<Omit<WindowSubject, 'hash'>>): WindowSubject {
  subjects += 1;
  return {
    hash: [subjects * 7919, subjects],
    requests: undefined,
    tokens: undefined,
    concurrent: undefined,
    ...limits,
  };
}

const table = (): WindowTable => new WindowTable(windowMemory(1), 1);
const one = { tokens: 1 };

describe('the window of a subject', () => {
  it('admits as many requests as the limit in any 60 seconds', () => {
    const windows = table();
    const key = subject({ requests: 100 });
    // Callers that try 50 times per second for three minutes.
    const admitted: number[] = [];
    for (let atMs = startMs; atMs < startMs + 180_000; atMs += 20) {
      if (windows.take([key], one, atMs).refusal === undefined) admitted.push(atMs);
    }
    for (const minute of [0, 1, 2]) {
      const inMinute = admitted.filter((atMs) => Math.floor((atMs - startMs) / 60_000) === minute).length;
      expect(inMinute).toBeGreaterThanOrEqual(98);
      expect(inMinute).toBeLessThanOrEqual(100);
    }
    // The window slides.
    for (const atMs of admitted) {
      expect(admitted.filter((other) => other >= atMs && other < atMs + 60_000).length).toBeLessThanOrEqual(100);
    }
  });

  it('admits a steady load up to the limit', () => {
    const windows = table();
    const key = subject({ requests: 600 });
    const minutes = [0, 0, 0, 0];
    // A little more than the limit.
    for (let ms = 0; ms < 240_000; ms += 90) {
      if (windows.take([key], one, startMs + ms).refusal === undefined) minutes[Math.floor(ms / 60_000)]! += 1;
    }
    for (const admitted of minutes) expect(Math.abs(admitted - 600)).toBeLessThan(12);
  });

  it('contains the tokens of the last 60 seconds, however long it has been used', () => {
    const windows = table();
    const key = subject({ tokens: 1000 });
    for (let minute = 0; minute < 4; minute += 1) {
      const atMs = startMs + minute * 61_000;
      expect(windows.take([key], { tokens: 600 }, atMs).figures[0]).toMatchObject({ tokens: 600 });
      expect(windows.take([key], { tokens: 600 }, atMs + 100).refusal).toMatchObject({ limit: 'tokens', used: 600 });
    }
  });

  it('reports when nothing counts any more', () => {
    const windows = table();
    const key = subject({ requests: 10, tokens: 1000 });
    const at = (ms: number, tokens: number) => windows.take([key], { tokens }, startMs + ms).figures[0]!;
    expect(at(0, 0)).toMatchObject({ requestsResetMs: 60_250, tokensResetMs: 0 });
    expect(at(10_000, 5)).toMatchObject({ requestsResetMs: 60_250, tokensResetMs: 60_250 });
    expect(at(30_000, 0)).toMatchObject({ requestsResetMs: 60_250, tokensResetMs: 40_250 });
  });

  it('reports when the next request is admitted, and that is true', () => {
    const windows = table();
    const key = subject({ requests: 3 });
    for (const atMs of [0, 400, 10_000]) expect(windows.take([key], one, startMs + atMs).refusal).toBeUndefined();
    const { refusal } = windows.take([key], one, startMs + 20_000);
    expect(refusal).toMatchObject({ limit: 'requests', max: 3, used: 3, needed: 1 });
    const retryAfterMs = refusal!.retryAfterMs!;
    expect(retryAfterMs).toBeGreaterThan(39_000);
    expect(retryAfterMs).toBeLessThan(41_000);
    expect(windows.take([key], one, startMs + 20_000 + retryAfterMs - 10).refusal).toBeDefined();
    expect(windows.take([key], one, startMs + 20_000 + retryAfterMs).refusal).toBeUndefined();
  });

  it('counts the estimate of a call until it ends, then its usage', () => {
    const windows = table();
    const key = subject({ tokens: 1000 });
    windows.take([key], { tokens: 600 }, startMs);
    expect(windows.take([key], { tokens: 500 }, startMs).refusal).toMatchObject({ limit: 'tokens', max: 1000, used: 600, needed: 500 });
    windows.end([key], { tokens: 600, takenAtMs: startMs }, 100, startMs + 5000);
    expect(windows.take([key], { tokens: 500 }, startMs + 5000).figures[0]).toMatchObject({ tokens: 600 });
    // More than was estimated is counted when it is known, and can exceed the limit.
    windows.end([key], { tokens: 500, takenAtMs: startMs + 5000 }, 2500, startMs + 30_000);
    expect(windows.take([key], { tokens: 1 }, startMs + 30_000).refusal).toMatchObject({ used: 2600 });
    expect(windows.take([key], { tokens: 1 }, startMs + 80_000).refusal).toMatchObject({ used: 2000 });
    expect(windows.take([key], { tokens: 1 }, startMs + 91_000).refusal).toBeUndefined();
  });

  it('forgets a call that was not made', () => {
    const windows = table();
    const key = subject({ requests: 2, tokens: 1000, concurrent: 2 });
    windows.take([key], { tokens: 300 }, startMs);
    windows.take([key], { tokens: 600 }, startMs + 1000);
    windows.cancel([key], { tokens: 600, takenAtMs: startMs + 1000 }, startMs + 5000);
    expect(windows.take([key], { tokens: 700 }, startMs + 5000).figures[0]).toMatchObject({ requests: 2, tokens: 1000, inFlight: 2 });
    // Nothing is subtracted for a request that has left the window.
    windows.cancel([key], { tokens: 700, takenAtMs: startMs + 5000 }, startMs + 70_000);
    expect(windows.take([key], one, startMs + 70_000).figures[0]).toMatchObject({ requests: 1, tokens: 1 });
  });

  it('ignores the correction of an estimate that has left the window', () => {
    const windows = table();
    const key = subject({ tokens: 1000 });
    windows.take([key], { tokens: 600 }, startMs);
    windows.end([key], { tokens: 600, takenAtMs: startMs }, 100, startMs + 70_000);
    expect(windows.take([key], { tokens: 1 }, startMs + 70_000).figures[0]).toMatchObject({ tokens: 1 });
  });

  it('takes nothing from later calls when an estimate that has left the window is corrected', () => {
    const windows = table();
    const key = subject({ tokens: 1000 });
    const laterMs = startMs + 60_500;
    for (let call = 0; call < 2; call += 1) windows.take([key], { tokens: 300 }, startMs);
    windows.take([key], { tokens: 300 }, laterMs);
    windows.end([key], { tokens: 300, takenAtMs: startMs }, 100, laterMs);
    windows.cancel([key], { tokens: 300, takenAtMs: startMs }, laterMs);
    expect(windows.take([key], { tokens: 1 }, laterMs).figures[0]).toMatchObject({ requests: 2, tokens: 301 });
  });

  it('distinguishes a request that can never be admitted from one that can wait', () => {
    const windows = table();
    const { refusal } = windows.take([subject({ tokens: 100 })], { tokens: 101 }, startMs);
    expect(refusal).toMatchObject({ limit: 'tokens', needed: 101, retryAfterMs: undefined });
  });

  it('counts calls in flight until they end', () => {
    const windows = table();
    const key = subject({ concurrent: 2 });
    for (let call = 0; call < 2; call += 1) expect(windows.take([key], one, startMs).refusal).toBeUndefined();
    // However long they run.
    expect(windows.take([key], one, startMs + 600_000).refusal).toMatchObject({ limit: 'concurrent', max: 2, used: 2 });
    windows.end([key], { ...one, takenAtMs: startMs }, 1, startMs + 600_000);
    expect(windows.take([key], one, startMs + 600_000).refusal).toBeUndefined();
  });

  it('counts a call against all of its subjects or against none', () => {
    const windows = table();
    const account = subject({ requests: 10 });
    const key = subject({ requests: 1 });
    windows.take([key, account], one, startMs);
    expect(windows.take([key, account], one, startMs).refusal).toMatchObject({ figures: { subject: key } });
    expect(windows.take([account], one, startMs).figures[0]).toMatchObject({ requests: 2 });
  });

  it('is refused by the limit that lasts longest', () => {
    const windows = table();
    const [key, account] = [subject({ requests: 1, concurrent: 1 }), subject({ requests: 1 })];
    windows.take([account], one, startMs);
    windows.take([key], one, startMs - 30_000);
    for (const path of [
      [key, account],
      [account, key],
    ])
      expect(windows.take(path, one, startMs).refusal).toMatchObject({ figures: { subject: account }, limit: 'requests' });
    // There is no wait after which such a call would be admitted.
    const small = subject({ tokens: 10 });
    for (const path of [
      [small, account],
      [account, small],
    ])
      expect(windows.take(path, { tokens: 11 }, startMs).refusal).toMatchObject({ figures: { subject: small }, retryAfterMs: undefined });
  });

  it('survives a clock that goes back', () => {
    const windows = table();
    const key = subject({ requests: 2 });
    windows.take([key], one, startMs);
    windows.take([key], one, startMs - 5000);
    expect(windows.take([key], one, startMs - 5000).refusal).toBeDefined();
    expect(windows.take([key], one, startMs + 61_000).refusal).toBeUndefined();
  });
});

describe('waitMs', () => {
  it('returns how long a call would have to wait without counting the call', () => {
    const windows = table();
    const vendor = subject({ requests: 2, tokens: 100 });
    for (let count = 0; count < 5; count += 1) expect(windows.waitMs(vendor, { tokens: 60 }, startMs)).toBe(0);
    windows.take([vendor], { tokens: 60 }, startMs);
    expect(windows.waitMs(vendor, { tokens: 40 }, startMs)).toBe(0);
    const waitMs = windows.waitMs(vendor, { tokens: 60 }, startMs + 10_000)!;
    expect(windows.waitMs(vendor, { tokens: 60 }, startMs + 10_000 + waitMs)).toBe(0);
    expect(waitMs).toBeGreaterThan(49_000);
    expect(windows.waitMs(vendor, { tokens: 101 }, startMs)).toBeUndefined();
  });
});

describe('a table', () => {
  it('keeps thousands of subjects apart', () => {
    const windows = new WindowTable(windowMemory(1, 4096), 1);
    const keys = Array.from({ length: 2000 }, () => subject({ requests: 1 }));
    for (const key of keys) expect(windows.take([key], one, startMs).refusal).toBeUndefined();
    for (const key of keys) expect(windows.take([key], one, startMs).refusal).toBeDefined();
  });

  it('keeps subjects apart whose hashes have a half in common', () => {
    const windows = table();
    const hashes = [
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ] as const;
    const keys = hashes.map((hash) => ({ ...subject({ requests: 1 }), hash }));
    for (const key of keys) expect(windows.take([key], one, startMs).refusal).toBeUndefined();
    for (const key of keys) expect(windows.take([key], one, startMs).refusal).toBeDefined();
  });

  it('evicts the subject with the oldest last call for a new one when it is full', () => {
    const windows = new WindowTable(windowMemory(1, 32), 1);
    const keys = Array.from({ length: 33 }, () => subject({ requests: 1 }));
    keys.forEach((key, index) => windows.take([key], one, startMs + index * 1000));
    expect(windows.take([keys[32]!], one, startMs + 33_000).refusal).toBeDefined();
    expect(windows.take([keys[1]!], one, startMs + 33_000).refusal).toBeDefined();
    expect(windows.take([keys[0]!], one, startMs + 33_000).refusal).toBeUndefined();
  });

  it('evicts subjects without calls in flight first', () => {
    const windows = new WindowTable(windowMemory(1, 32), 1);
    const keys = Array.from({ length: 33 }, () => subject({ requests: 10, concurrent: 1 }));
    keys.forEach((key, index) => {
      windows.take([key], one, startMs + index * 1000);
      if (index > 0) windows.end([key], { ...one, takenAtMs: startMs + index * 1000 }, 1, startMs + index * 1000);
    });
    expect(windows.take([keys[0]!], one, startMs + 33_000).refusal).toMatchObject({ limit: 'concurrent', used: 1 });
    expect(windows.take([keys[1]!], one, startMs + 33_000).figures[0]).toMatchObject({ requests: 1 });
  });

  it('never counts below zero for a subject that was evicted while it had calls in flight', () => {
    const windows = new WindowTable(windowMemory(1, 32), 1);
    const keys = Array.from({ length: 33 }, () => subject({ requests: 10, tokens: 1000, concurrent: 1 }));
    keys.forEach((key, index) => windows.take([key], { tokens: 600 }, startMs + index));
    windows.end([keys[0]!], { tokens: 600, takenAtMs: startMs }, 100, startMs + 100);
    expect(windows.take([keys[0]!], { tokens: 5 }, startMs + 100).figures[0]).toMatchObject({ requests: 1, tokens: 5, inFlight: 1 });
  });

  it('is shared by threads, and forgets what a thread that ended had in flight', () => {
    const memory = windowMemory(2);
    const [first, second] = [new WindowTable(memory, 1), new WindowTable(memory, 2)];
    const key = subject({ requests: 10, concurrent: 2 });
    first.take([key], one, startMs);
    second.take([key], one, startMs);
    expect(first.take([key], one, startMs).refusal).toMatchObject({ limit: 'concurrent', used: 2 });
    clearWindows(memory, 2);
    // Its requests were made.
    expect(first.take([key], one, startMs).figures[0]).toMatchObject({ requests: 3, inFlight: 2 });
  });

  it('is used by one thread at a time', async () => {
    const memory = windowMemory(2);
    const windows = new WindowTable(memory, 1);
    const key = subject({ requests: 10 });
    const finished = new Int32Array(new SharedArrayBuffer(4));
    // Works for a while, then releases the lock.
    const other = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const [cells, finished] = workerData.map((memory) => new Int32Array(memory));
       parentPort.on('message', () => setTimeout(() => {
         Atomics.store(finished, 0, 1);
         Atomics.store(cells, 0, 0);
         Atomics.notify(cells, 0);
       }, 20));`,
      { eval: true, workerData: [memory.cells, finished.buffer] },
    );
    for (const use of [
      () => windows.take([key], one, startMs),
      () => windows.waitMs(key, one, startMs),
      () => windows.end([key], { ...one, takenAtMs: startMs }, 1, startMs),
    ]) {
      Atomics.store(finished, 0, 0);
      Atomics.store(new Int32Array(memory.cells), 0, 2);
      other.postMessage('');
      use();
      expect(Atomics.load(finished, 0)).toBe(1);
    }
    await other.terminate();
  });

  it('does not stay locked when a thread ends in the middle of a check', () => {
    const memory = windowMemory(2);
    Atomics.store(new Int32Array(memory.cells), 0, 2);
    clearWindows(memory, 2);
    expect(new WindowTable(memory, 1).take([subject({ requests: 1 })], one, startMs).refusal).toBeUndefined();
  });
});

describe('the hash of a subject', () => {
  it('differs in both halves from almost all others', () => {
    const hashes = Array.from({ length: 20_000 }, (_, index) => subjectHash(`key key_${index.toString(16).padStart(32, '0')}`));
    for (const half of [0, 1]) expect(new Set(hashes.map((hash) => hash[half])).size).toBeGreaterThan(19_990);
  });
});
