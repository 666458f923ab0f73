import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { parseSettings } from '../config/settings.js';
import { commonSettings } from '../config/common.js';
import { recordingLogger } from '../testing/log.js';
import { threadGroup, type ThreadGroup } from './thread-group.js';

let group: ThreadGroup | undefined;
afterEach(() => group?.stop());

/** A thread that takes a moment to collect its metrics. */
const script = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ kind }) => {
    if (kind === 'stop') process.exit(0);
    if (kind === 'collect') setTimeout(() => parentPort.postMessage({ kind: 'metrics', metrics: [] }), 50);
  });
  parentPort.postMessage({ kind: 'started' });
`;

it('returns the metrics of its threads to receivers that collect at the same time', async () => {
  group = threadGroup({
    name: 'gateway',
    processName: 'single',
    script: new URL(`data:text/javascript,${encodeURIComponent(script)}`),
    threads: 1,
    firstAlone: false,
    services: [],
    common: parseSettings(commonSettings('single'), {}),
    log: recordingLogger().log,
    dataOf: () => undefined,
    started: () => undefined,
    ended: () => undefined,
  });
  await group.start();
  const ended: string[] = [];
  const first = group.metrics().then(() => ended.push('first'));
  await group.metrics().then(() => ended.push('second'));
  await nextTurn();
  expect(ended).toEqual(['first', 'second']);
  await first;
});
