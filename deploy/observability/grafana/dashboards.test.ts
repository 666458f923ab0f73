import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dashboards } from './dashboards.js';
import { modelOf } from './panels.js';

const folder = new URL('./', import.meta.url);
const fileOf = (uid: string): URL => new URL(`${uid}.json`, folder);

describe('the files of the dashboards', () => {
  it.each(dashboards.map((dashboard) => [dashboard.uid, dashboard] as const))(
    'match the code: %s (TOLLGATE_TEST_WRITE_DOCS=1 updates them)',
    (uid, dashboard) => {
      const text = `${JSON.stringify(modelOf(dashboard), undefined, 2)}\n`;
      if (process.env['TOLLGATE_TEST_WRITE_DOCS'] === '1') writeFileSync(fileOf(uid), text);
      expect(readFileSync(fileOf(uid), 'utf8')).toBe(text);
    },
  );

  it('are all there is', () => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
    expect(files.toSorted()).toEqual(dashboards.map(({ uid }) => `${uid}.json`).toSorted());
  });
});
