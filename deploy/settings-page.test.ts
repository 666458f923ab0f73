import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mailSettings } from '#kit/mail/settings.js';
import { commonSettings } from '#kit/config/common.js';
import { otelLibrarySettings } from '#kit/config/otel/library-settings.js';
import { otelSettings } from '#kit/config/otel/settings.js';
import { clientKeyVariable, type Settings } from '#kit/config/settings.js';
import { gatewaySettings } from '../gateway/index.js';
import { authSettings } from '../services/auth/index.js';
import { catalogSettings } from '../services/catalog/index.js';
import { inferenceSettings } from '../services/inference/index.js';
import { ledgerSettings, paymentSettings } from '../services/ledger/index.js';
import { meteringSettings } from '../services/metering/index.js';
import { distributedSettings } from './distributed/config.js';
import { settingNames, settingsPage } from './settings-page.js';
import { grpcSettings, inProcessSettings, singleSettings } from './single/config.js';
import { processSettings } from './testing/process-settings.js';

const root = new URL('..', import.meta.url);
const path = new URL('docs/configuration.md', root);
const processNames = ['AUTH', 'CATALOG', 'LEDGER', 'METERING', 'INFERENCE', 'GATEWAY', 'SINGLE'] as const;

const service = (name: string): string => `Read by the single process and by the ${name} process.`;
const ofTelemetry = new Set<string>(Object.keys(otelSettings));
const everyProcess = Object.fromEntries(Object.entries(commonSettings('<process>')).filter(([name]) => !ofTelemetry.has(name)));

/** What the processes read, by name, since the settings of different services have the same keys. */
function ofProcesses(): Settings {
  const { operator: _, ...processes } = processSettings;
  const all = Object.values(processes).flatMap((settings) => Object.values(settings));
  // Listed with <PROCESS>.
  return Object.fromEntries(all.filter(({ env }) => !env.endsWith('_METRICS_LISTEN')).map((each) => [each.env, each]));
}

const page = settingsPage([
  {
    title: 'Data folder and first start',
    readBy: 'Read by the single process and by the launcher of the distributed mode.',
    settings: singleSettings,
  },
  {
    title: 'Single process',
    readBy: 'In distributed mode each service has an address of its own and messages always pass over gRPC.',
    settings: { ...grpcSettings, ...inProcessSettings },
  },
  { title: 'Gateway', readBy: service('gateway'), settings: gatewaySettings },
  { title: 'auth', readBy: service('auth'), settings: authSettings },
  { title: 'catalog', readBy: service('catalog'), settings: catalogSettings },
  { title: 'ledger', readBy: service('ledger'), settings: { ...ledgerSettings, ...paymentSettings } },
  { title: 'metering', readBy: service('metering'), settings: meteringSettings },
  { title: 'inference', readBy: service('inference'), settings: inferenceSettings },
  {
    title: 'Mail',
    readBy: 'Read by the single process and by the process of auth, which sends all mail. Emails are plain text, each to one recipient.',
    settings: mailSettings,
  },
  {
    title: 'Every process',
    readBy: `Logs, metrics, certificates and shutdown. \`<PROCESS>\` is one of ${processNames.join(', ')} (the single process).`,
    settings: everyProcess,
  },
  {
    title: 'OpenTelemetry',
    readBy:
      'Read by every process. These are the variables of the OpenTelemetry specification; a variable of the specification that is not supported is an error. ' +
      '[Tracing](tracing.md) describes what is sent.',
    settings: { ...otelSettings, ...otelLibrarySettings },
  },
  {
    title: 'Processes of the distributed mode',
    readBy:
      "Read by the process that the variable names. The addresses are read by the processes that call the service, and by the operator's command.",
    settings: ofProcesses(),
  },
  {
    title: 'Launcher of the distributed mode',
    readBy:
      'Read by `make run-distributed` and `make run-galera`, which set the addresses, databases and certificates of the processes themselves.',
    settings: distributedSettings,
  },
  {
    title: "The operator's command",
    readBy: 'Read by `tollgate`, as are the data folder, the port, the addresses of the services and the certificate.',
    settings: processSettings.operator,
  },
]);

/** What the page lists, for every process. */
const listed = new Set(
  [...page.matchAll(/^\| `(\w+(?:<PROCESS>\w+)?)` \|/gm)].flatMap(([, name]) =>
    processNames.map((each) => name!.replace('<PROCESS>', each)),
  ),
);

/** The variables that files of the repository name and the page does not, each with such a file. */
function unlisted(...patterns: string[]): [name: string, file: string][] {
  const names = new Map(files(...patterns).flatMap((file) => [...settingNames(text(file))].map((name): [string, string] => [name, file])));
  expect(names.size).toBeGreaterThan(50);
  return [...names].filter(
    ([name]) => !listed.has(name.replace('<PROCESS>', 'AUTH')) && !/^TOLLGATE_(TEST|BENCH)_/.test(name) && name !== clientKeyVariable,
  );
}

function files(...patterns: string[]): string[] {
  const tracked = execFileSync('git', ['ls-files', '--', ...patterns], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');
  // A deletion may not be committed yet.
  return tracked.filter((file) => existsSync(new URL(file, root)));
}

function text(file: string): string {
  return readFileSync(new URL(file, root), 'utf8');
}

describe('docs/configuration.md', () => {
  it('matches the settings in the code (TOLLGATE_TEST_WRITE_DOCS=1 updates it)', () => {
    if (process.env['TOLLGATE_TEST_WRITE_DOCS'] === '1') writeFileSync(path, page);
    expect(readFileSync(path, 'utf8')).toBe(page);
  });

  it('lists every variable that sources, scripts and files for containers name', () => {
    const sources = ['services', 'gateway', 'cli', 'deploy', 'proto/client', 'proto/rules', 'scripts', 'Makefile', 'tollgate'];
    expect(unlisted(...sources, ':!*.test.ts', ':!*/testing/*')).toEqual([]);
  });

  it('lists every variable that another page or a README names', () => {
    expect(unlisted('*.md')).toEqual([]);
  });

  it('lists no variable whose value no code uses', () => {
    const all = [singleSettings, grpcSettings, inProcessSettings, mailSettings, distributedSettings, ...Object.values(processSettings)];
    const mentions = new Map<string, number>();
    for (const file of files('services/*.ts', 'gateway/*.ts', 'cli/*.ts', 'deploy/*.ts', ':!*.test.ts')) {
      for (const [word] of text(file).matchAll(/\b[a-z]\w+/g)) mentions.set(word, (mentions.get(word) ?? 0) + 1);
    }
    // Its definition is one mention.
    expect(all.flatMap((settings) => Object.keys(settings)).filter((key) => mentions.get(key)! < 2)).toEqual([]);
  });
});
