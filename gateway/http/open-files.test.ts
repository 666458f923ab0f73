import { expect, it } from '@jest/globals';
import { recordingLogger } from '#kit/testing/log.js';
import { connectionsWithin } from './open-files.js';

const counts = { connectionsMax: 10_000, callsMax: 2000 };

it.each([
  [Number.POSITIVE_INFINITY, 10_000],
  [12_200, 10_000],
  // Half of what other files leave.
  [1024, 412],
  // Every call in flight has a second connection.
  [10_200, 8000],
  [100, 1],
])('with %d open files, the gateway accepts %d connections', (filesMax, connectionsMax) => {
  const { log, lines } = recordingLogger();
  expect(connectionsWithin(counts, log, filesMax)).toBe(connectionsMax);
  expect(lines.map(({ msg }) => msg)).toEqual(
    connectionsMax === 10_000
      ? []
      : [expect.stringMatching(`may open ${filesMax} files, .*${connectionsMax} connections .*10000.*LimitNOFILE`)],
  );
});
