import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { systemClock } from '../../clock.js';
import { silentLog } from '../../testing/log.js';
import { untilTrue } from '../../testing/waiting.js';
import { WatchCallersResponse } from '#proto/auth/v1/callers.js';
import { Access } from './access.js';
import { type CallerSource, followCallers } from './follow-callers.js';

it('reports when a caller was seen until auth has stored it', async () => {
  const access = new Access();
  const reports: (readonly [name: string, atMs: bigint])[][] = [];
  const source: CallerSource = {
    async *watchCallers(_, context) {
      yield WatchCallersResponse.fromPartial({
        isSnapshot: true,
        heartbeatIntervalMs: 1000,
        callers: ['billing-team', 'reporting'].map((name) => ({ name, identity: `CN=${name}` })),
      });
      await once(context!.signal, 'abort');
    },
    async reportCallersSeen({ sightings }) {
      reports.push(sightings.map(({ name, atMs }) => [name, atMs]));
      if (reports.length > 1) return {};
      access.callers.noteSeen('billing-team');
      throw new Error('auth is being replaced');
    },
  };
  const part = followCallers({ access, source, caller: 'ledger', clock: systemClock, log: silentLog, reportMs: 10 });
  await part.start();
  await untilTrue(() => access.callers.isCurrent());
  access.callers.noteSeen('billing-team');
  access.callers.noteSeen('reporting');
  await untilTrue(() => reports.length > 1);
  await part.stop();
  const [[, reporting] = [], again = []] = reports;
  expect(again).toEqual([['billing-team', expect.anything()], reporting]);
  expect(reports).toHaveLength(2);
});
