import { describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { mailSettings } from '#kit/mail/settings.js';
import { commonSettings } from '#kit/config/common.js';
import { otelLibrarySettings } from '#kit/config/otel/library-settings.js';
import { otelSettings } from '#kit/config/otel/settings.js';
import { gatewaySettings } from '../gateway/index.js';
import { authSettings } from '../services/auth/index.js';
import { catalogSettings } from '../services/catalog/index.js';
import { inferenceSettings } from '../services/inference/index.js';
import { ledgerSettings, paymentSettings } from '../services/ledger/index.js';
import { meteringSettings } from '../services/metering/index.js';
import { distributedSettings } from './distributed/config.js';
import { settingsPage } from './settings-page.js';
import { grpcSettings, inProcessSettings, singleSettings } from './single/config.js';

const path = new URL('../docs/configuration.md', import.meta.url);

const service = (name: string): string => `Read by the single process and by the ${name} process.`;
const ofTelemetry = new Set<string>(Object.keys(otelSettings));
const everyProcess = Object.fromEntries(Object.entries(commonSettings('<process>')).filter(([name]) => !ofTelemetry.has(name)));
const { firstPort, database, restartDelayMs } = distributedSettings;

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
  {
    title: 'Launcher of the distributed mode',
    readBy: 'Read by `make run-distributed` and `make run-galera`.',
    settings: { firstPort, database, restartDelayMs },
  },
  { title: 'Gateway', readBy: service('gateway'), settings: gatewaySettings },
  { title: 'auth', readBy: service('auth'), settings: authSettings },
  { title: 'catalog', readBy: service('catalog'), settings: catalogSettings },
  { title: 'ledger', readBy: service('ledger'), settings: { ...ledgerSettings, ...paymentSettings } },
  { title: 'metering', readBy: service('metering'), settings: meteringSettings },
  { title: 'inference', readBy: service('inference'), settings: inferenceSettings },
  {
    title: 'Mail',
    readBy: 'Read by the single process and by the process of auth, which sends all mail. Plain text, to one recipient at a time.',
    settings: mailSettings,
  },
  { title: 'Every process', readBy: 'Logs, metrics, certificates and shutdown.', settings: everyProcess },
  {
    title: 'OpenTelemetry',
    readBy:
      'Read by every process. These are the variables of the OpenTelemetry specification; a variable of the specification that is not supported is an error. ' +
      '[Tracing](tracing.md) describes what is sent.',
    settings: { ...otelSettings, ...otelLibrarySettings },
  },
]);

describe('docs/configuration.md', () => {
  it('matches the settings in the code (TOLLGATE_TEST_WRITE_DOCS=1 updates it)', () => {
    if (process.env['TOLLGATE_TEST_WRITE_DOCS'] === '1') writeFileSync(path, page);
    expect(readFileSync(path, 'utf8')).toBe(page);
  });
});
