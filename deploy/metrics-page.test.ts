import { describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { definedMetrics } from '#kit/telemetry/metrics.js';
// Each defines its metrics when it is loaded.
import '#kit/process/process.js';
import '../gateway/index.js';
import '../services/auth/index.js';
import '../services/catalog/index.js';
import '../services/inference/index.js';
import '../services/ledger/index.js';
import '../services/metering/index.js';
import { metricsPage } from './metrics-page.js';

const path = new URL('../docs/metrics.md', import.meta.url);

describe('docs/metrics.md', () => {
  it('matches the metrics in the code (TOLLGATE_TEST_WRITE_DOCS=1 updates it)', () => {
    const page = metricsPage(definedMetrics());
    if (process.env['TOLLGATE_TEST_WRITE_DOCS'] === '1') writeFileSync(path, page);
    expect(readFileSync(path, 'utf8')).toBe(page);
  });

  it('lists no label that could hold an account, a key or a call', () => {
    const labels = definedMetrics().flatMap(({ labelNames }) => labelNames as string[]);
    expect(labels.filter((name) => /account|key|request\.id|call\.id|user/.test(name))).toEqual([]);
  });
});
