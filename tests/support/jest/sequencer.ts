// Sets the order of test files: long ones first, because a long file that starts last would run alone at the end; and browser tests in half
// of the workers as far as possible, because browser tests keep the processor busy while most other tests wait.
import type { TestSequencerOptions } from '@jest/test-sequencer';
import { createRequire } from 'node:module';
import { longEndToEndTests, slowUnitTests } from './durations.ts';

// The package's types describe its CommonJS form.
const { default: TestSequencer } = createRequire(import.meta.url)('@jest/test-sequencer') as typeof import('@jest/test-sequencer');
type Test = Parameters<InstanceType<typeof TestSequencer>['sort']>[0][number];

/** Assumed of files that are not listed. */
const secondsOfOthers = { unit: 1, endToEnd: 10 };

/** Files whose process ends with them, because they register telemetry: they come first, before their process has loaded what others need. */
export const ownProcess = [
  'services/kit/rpc/batch.test.ts',
  'services/kit/rpc/transports.test.ts',
  'services/kit/db/statements/sql-spans.test.ts',
  'services/ledger/store/round-trips.mysql.test.ts',
  'services/metering/store/round-trips.mysql.test.ts',
];

/** Jest's sequencer with this order. */
export default class extends TestSequencer {
  private readonly workerCount: number;

  constructor(options: TestSequencerOptions) {
    super(options);
    this.workerCount = options.globalConfig.maxWorkers;
  }

  override sort(tests: Test[]): Test[] {
    const left = [...tests]
      .map((test) => ({ test, ...judged(test) }))
      .sort((one, other) => Number(other.isFirst) - Number(one.isFirst) || other.takes - one.takes || (one.path < other.path ? -1 : 1));
    const workers = Array.from({ length: this.workerCount }, () => ({ freeAt: 0, inBrowser: false }));
    const order: Test[] = [];
    while (left.length > 0) {
      const next = workers.reduce((first, worker) => (worker.freeAt < first.freeAt ? worker : first));
      const browsers = workers.filter((worker) => worker !== next && worker.inBrowser && worker.freeAt > next.freeAt).length;
      // A browser test comes first while too few are running, so that these do not accumulate at the end.
      const wanted = left.findIndex(({ inBrowser }) => inBrowser === browsers < this.workerCount / 2);
      const chosen = left.splice(Math.max(0, wanted), 1)[0]!;
      next.freeAt += chosen.takes;
      next.inBrowser = chosen.inBrowser;
      order.push(chosen.test);
    }
    return order;
  }
}

function judged({ path, context }: Test): { path: string; takes: number; isFirst: boolean; inBrowser: boolean } {
  const name = path.slice(context.config.rootDir.length + 1);
  return {
    path: name,
    takes: slowUnitTests[name] ?? longEndToEndTests[name] ?? (name.startsWith('tests/') ? secondsOfOthers.endToEnd : secondsOfOthers.unit),
    isFirst: ownProcess.includes(name),
    inBrowser: name.startsWith('tests/console/'),
  };
}
