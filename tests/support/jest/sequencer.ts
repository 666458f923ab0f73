// Sets the order of test files: long ones first, because a long file that starts last would run alone at the end; and browser tests in half
// of the workers as far as possible, because browser tests keep the processor busy while most other tests wait.
import type { TestSequencerOptions } from '@jest/test-sequencer';
import { createRequire } from 'node:module';

// The package's types describe its CommonJS form.
const { default: TestSequencer } = createRequire(import.meta.url)('@jest/test-sequencer') as typeof import('@jest/test-sequencer');
type Test = Parameters<InstanceType<typeof TestSequencer>['sort']>[0][number];

/** Seconds that test files take on two cores, by their path from the root of the checkout. Files that are not listed take less. */
export const seconds: Readonly<Record<string, number>> = {
  'tests/operations/outages.test.ts': 120,
  'tests/operations/galera.test.ts': 147,
  'tests/console/every-page.test.ts': 140,
  'tests/kill/disk-full.test.ts': 120,
  'tests/calls/idempotency.test.ts': 107,
  'tests/kill/kill.test.ts': 101,
  'tests/calls/streams.test.ts': 91,
  'tests/console/journey.test.ts': 52,
  'tests/operations/chaos.test.ts': 58,
  'tests/operations/availability.distributed.test.ts': 64,
  'tests/console/operator.test.ts': 55,
  'tests/console/usage.test.ts': 57,
  'services/metering/reconcile/job.test.ts': 54,
  'tests/console/home.test.ts': 54,
  'tests/console/operator-catalog.test.ts': 53,
  'tests/console/docs.test.ts': 38,
  'tests/money/money.test.ts': 49,
  'tests/operations/rate-limits.distributed.test.ts': 45,
  'tests/console/keys.test.ts': 49,
  'tests/calls/outcomes.test.ts': 48,
  'tests/console/users.test.ts': 47,
  'tests/operations/build.test.ts': 28,
  'tests/money/affordable.test.ts': 45,
  'tests/money/payments.test.ts': 45,
  'tests/console/addresses.test.ts': 45,
  'tests/money/charges-nine-paths.test.ts': 60,
  'tests/accounts/alerts.test.ts': 42,
  'tests/console/catalog.test.ts': 25,
  'tests/console/faults.test.ts': 38,
  'services/ledger/books/model.test.ts': 37,
  'tests/console/sizes.test.ts': 30,
  'tests/console/alerts.test.ts': 37,
  'tests/console/billing.test.ts': 36,
  'tests/operations/threads.test.ts': 30,
  'tests/console-api/operator-catalog.test.ts': 31,
  'tests/accounts/invitations.test.ts': 31,
  'tests/console-api/operator-api.test.ts': 29,
  'tests/console/frame.test.ts': 28,
  'tests/accounts/sign-in.test.ts': 27,
  'tests/operations/metrics.test.ts': 45,
  'tests/clients/failures.test.ts': 25,
  'tests/operations/first-run.test.ts': 23,
  'tests/calls/refusals.test.ts': 25,
  'tests/calls/upstreams.test.ts': 22,
  'tests/console-api/console-api.test.ts': 22,
  'tests/grpc/audit.test.ts': 22,
  'tests/console-api/console-reference.test.ts': 21,
  'tests/calls/attempts.test.ts': 20,
  'tests/grpc/client-package.test.ts': 19,
  'tests/console/mail.test.ts': 19,
  'services/kit/db/mysql/nodes.mysql.test.ts': 18,
  'tests/clients/sandbox.test.ts': 18,
  'tests/money/billing-api.test.ts': 18,
};
const secondsOfOthers = 10;

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
    takes: seconds[name] ?? secondsOfOthers,
    isFirst: ownProcess.includes(name),
    inBrowser: name.startsWith('tests/console/'),
  };
}
