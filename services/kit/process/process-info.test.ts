// What a process reports about itself and its database.
import { describe, expect, it } from '@jest/globals';
import { processInfo, thisProcess } from './process-info.js';
import { createTestDatabase, testEngines } from '../testing/database.js';
import { tollgateVersion } from './version.js';

describe.each(testEngines)('a process on %s', (engine) => {
  it('reports its versions, its start and its database', async () => {
    const test = await createTestDatabase(engine);
    try {
      const info = await processInfo(test.db);
      expect(info).toMatchObject({ instanceId: thisProcess.instanceId, version: tollgateVersion, nodeVersion: process.versions.node });
      expect(info.databaseEngine).toBe(engine === 'sqlite' ? 'SQLite' : 'MariaDB');
      expect(info.databaseVersion).toMatch(/^\d+\.\d+\.\d+$/);
      expect(tollgateVersion).toMatch(/^\d+\.\d+\.\d+/);
      expect(Number(info.startedAtMs)).toBeLessThanOrEqual(Date.now());
      expect(info.databaseLatencyUs).toBeGreaterThan(0);
    } finally {
      await test.drop();
    }
  });
});
