// Measures how soon the main pages show their largest content on a slow phone: 1.6 Mbit/s, 150 ms of latency, a processor four times slower.
// See README.md.
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { createSampleAccount, type SampleAccount } from '../tests/console/sample-account.js';
import { newMember, newPerson, startChromium } from '../tests/support/clients/chromium.js';
import { startSystem, type System } from '../tests/support/systems/system.js';
import { median } from './measure.ts';
import { printCircumstances, printTable } from './table.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, width: { type: 'string', default: '375' } } });
const rounds = Number(options.rounds);
const width = Number(options.width);

const network = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const cpuRate = 4;
/** A page counts as loaded when it has requested nothing for this long. */
const quietMs = 1500;

interface Figures {
  readonly lcpMs: number;
  readonly fcpMs: number;
  readonly kB: number;
  readonly requests: number;
}

/** Loads a page with an empty cache. */
async function load(chromium: Browser, system: System, path: string, who?: SampleAccount['owner']): Promise<Figures> {
  const look = { width, height: 800 };
  const person = who === undefined ? await newPerson(chromium, system.baseUrl, look) : await newMember(chromium, system, who, look);
  try {
    const page = await person.context.newPage();
    const devtools = await person.context.newCDPSession(page);
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', network);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: cpuRate });
    let [bytes, requests, lastMs] = [0, 0, performance.now()];
    devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
      requests += 1;
    });
    devtools.on('Network.requestWillBeSent', ({ request }) => {
      // Live figures are requested again and again.
      if (requests === 0 || !request.url.includes('/api/')) lastMs = performance.now();
    });
    await page.addInitScript(() => {
      const paints = ((globalThis as { paints?: object }).paints = { lcpMs: 0, fcpMs: 0 });
      new PerformanceObserver((list) => (paints.lcpMs = list.getEntries().at(-1)!.startTime)).observe({
        type: 'largest-contentful-paint',
        buffered: true,
      });
      new PerformanceObserver((list) => {
        for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') paints.fcpMs = startTime;
      }).observe({ type: 'paint', buffered: true });
    });
    await page.goto(path);
    await page.locator('h1').first().waitFor();
    while (performance.now() - lastMs < quietMs) await page.waitForTimeout(100);
    const paints = await page.evaluate(() => (globalThis as unknown as { paints: { lcpMs: number; fcpMs: number } }).paints);
    return { ...paints, kB: bytes / 1000, requests };
  } finally {
    await person.close();
  }
}

const system = await startSystem('single');
const chromium = await startChromium();
try {
  const { owner, accountId } = await createSampleAccount(system);
  const pages = [
    ['sign-in', 'console/sign-in'],
    ['Home', `console/accounts/${accountId}`, owner],
    ['usage', `console/accounts/${accountId}/usage`, owner],
    ['keys', `console/accounts/${accountId}/keys`, owner],
    ['/models', 'models'],
    ['/docs', 'docs'],
  ] as const;
  printCircumstances();
  const rows: (readonly (string | number)[])[] = [];
  for (const [name, path, who] of pages) {
    const found: Figures[] = [];
    for (let round = 0; round < rounds; round += 1) found.push(await load(chromium, system, path, who));
    const of = (figure: keyof Figures): number => median(found.map((each) => each[figure]));
    rows.push([name, (of('lcpMs') / 1000).toFixed(2), (of('fcpMs') / 1000).toFixed(2), of('kB').toFixed(0), of('requests')]);
  }
  printTable([`page, ${width} px, empty cache`, 'largest content, s', 'first content, s', 'kB', 'requests'], rows);
} finally {
  await chromium.close();
  await system.stop();
}
// Whatever the browser or a request has left open must not keep the process running.
process.exit();
