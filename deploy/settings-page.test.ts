import { describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { mailSettings } from '#kit/mail/settings.js';
import { commonSettings } from '#kit/config/common.js';
import { gatewaySettings } from '../gateway/index.js';
import { authSettings } from '../services/auth/index.js';
import { catalogSettings } from '../services/catalog/index.js';
import { inferenceSettings } from '../services/inference/index.js';
import { ledgerSettings, paymentSettings } from '../services/ledger/index.js';
import { meteringSettings } from '../services/metering/index.js';
import { distributedSettings } from './distributed/config.js';
import { settingsPage } from './settings-page.js';
import { grpcSettings, singleSettings } from './single/config.js';

const path = new URL('../docs/configuration.md', import.meta.url);

const service = (name: string): string => `Read by the single process and by the process of ${name}.`;
const { instanceId, ...common } = commonSettings('<process>');
// Where nothing is set it is the machine's name, which is another one everywhere.
const everyProcess = { ...common, instanceId: { ...instanceId, default: 'the host name' } };
const { firstPort, database, restartDelayMs } = distributedSettings;

const page = settingsPage([
  {
    title: 'Where, and the first start',
    readBy: 'Read by the single process and by the launcher of the distributed mode.',
    settings: singleSettings,
  },
  {
    title: 'gRPC of a single process',
    readBy: 'Read by the single process. In distributed mode each service has an address of its own.',
    settings: grpcSettings,
  },
  {
    title: 'Launcher of the distributed mode',
    readBy: 'Read by `make run-distributed` and `make run-galera`.',
    settings: { firstPort, database, restartDelayMs },
  },
  { title: 'Gateway', readBy: service('the gateway'), settings: gatewaySettings },
  { title: 'auth', readBy: service('auth'), settings: authSettings },
  { title: 'catalog', readBy: service('the catalog'), settings: catalogSettings },
  { title: 'ledger', readBy: service('the ledger'), settings: { ...ledgerSettings, ...paymentSettings } },
  { title: 'metering', readBy: service('metering'), settings: meteringSettings },
  { title: 'inference', readBy: service('inference'), settings: inferenceSettings },
  {
    title: 'Mail',
    readBy:
      'Read by the single process and by the processes of the ledger, for alerts, and of auth, for invitations. Plain text, to one recipient at a time.',
    settings: mailSettings,
  },
  { title: 'Every process', readBy: 'Logs, telemetry, certificates and the end.', settings: everyProcess },
]);

describe('docs/configuration.md', () => {
  it('says what the code says (TOLLGATE_TEST_WRITE_DOCS=1 writes it anew)', () => {
    if (process.env['TOLLGATE_TEST_WRITE_DOCS'] === '1') writeFileSync(path, page);
    expect(readFileSync(path, 'utf8')).toBe(page);
  });
});
