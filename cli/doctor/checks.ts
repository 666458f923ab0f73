// The checks of `tollgate doctor`: each checks one thing and returns its finding, or the fix.
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { Cli } from '../cli.js';
import { TlsFiles } from '#client/tls-files.js';
import { DriftCheck } from '#proto/metering/v1/metering.js';
import type { ProcessInfo } from '#proto/process/v1/process.js';
import { type ServiceName, serviceNames } from '#rules/services.js';
import type { CliConfig } from '../config.js';
import { connectionFault } from '../connection-fault.js';
import { connect, operatorCall, type Services } from '../connect.js';
import { CliError, explain } from '../errors.js';
import { counted, instant } from '../output.js';
import { checkCertificates, checkClocks, checkDisks, checkVersions, type SeenProcess } from './process-checks.js';
import { checkUpstreams } from './upstream-checks.js';
import { keyFiles, lackingFiles, reportedKeys } from '../secret-keys.js';
import { isRight } from '../views/balance.js';

const nodeMajorMin = 24;
const httpTimeoutMs = 3000;
const readyTextMax = 10_000;
const verifyTimeoutMs = 60_000;
/** With many entries, the journal takes minutes to verify: then the results of the reconcile job count. */
const booksTimeoutMs = 20_000;
const outboxAgeMsMax = 60_000;
// A daily backup that is a few hours late.
const backupHoursMax = 30;
/** For how long the doctor mentions a restore. */
const recentRestoreMs = 30 * 86_400_000;
/** Longer than the attempts for one notification take. */
const notificationAgeMsMax = 2 * 3_600_000;
// The ledger expires holds a hundred times a minute or more; a few are always pending.
const overdueHoldsMax = 1000n;
// Twice the longest interval that can be set.
const reconcileAgeMsMax = 2 * 3_600_000;
// As in the alert TollgateReconcileStalled.
const fullReconcileAgeMsMax = 2 * 86_400_000;
// The Date header has whole seconds, and the response takes a while.
const clockSkewMsMax = 3000;

/** The finding of one check. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
  /** Empty when the check passed. */
  readonly fix: string;
}

/** Runs all checks, ordered so that the first fault is likely the cause of later ones. */
export async function* examine(cli: Cli): AsyncGenerator<Finding> {
  yield await check('node', () => Promise.resolve(checkNode(process.versions.node)));
  let config: CliConfig | undefined;
  yield await check('configuration', async () => {
    config = cli.config();
    return config.mode === 'single' ? `single process, data in ${config.dataDir}` : 'distributed';
  });
  if (config === undefined) return;
  yield* examineGateway(config, cli.world.nowMs);
  yield* examineServices(config, cli.world.nowMs);
}

async function* examineGateway(config: CliConfig, nowMs: () => number): AsyncGenerator<Finding> {
  let date: string | null = null;
  let seen: ReadyView = {};
  yield await check('gateway', async () => {
    const url = `${config.gatewayUrl}/readyz`;
    const response = await fetch(url, { signal: AbortSignal.timeout(httpTimeoutMs) }).catch((error: unknown) => {
      throw new CliError(`${url} is not responding.`, {
        fix: 'Start the gateway, or set TOLLGATE_DATA_DIR to its data folder, or TOLLGATE_GATEWAY_URL to its address.',
        cause: error,
      });
    });
    date = response.headers.get('date');
    const text = (await response.text()).slice(0, readyTextMax);
    seen = readyOf(text);
    if (!response.ok)
      throw new CliError(`${url} responds with ${response.status}: ${text.slice(0, 200)}`, {
        fix: 'The checks below show what it waits for.',
      });
    return `ready at ${config.gatewayUrl}`;
  });
  const { spool, warnings = [] } = seen;
  if (spool !== undefined) yield await check('spool', () => Promise.resolve(checkSpool(spool)));
  for (const [warning, { title, fault, fix }] of Object.entries(gatewayWarnings)) {
    if (!warnings.includes(warning)) continue;
    yield await check(title, () => Promise.reject(new CliError(fault, { fix })));
  }
  if (date !== null) yield await check('clock', () => Promise.resolve(checkClock(Date.parse(date!), nowMs())));
}

async function* examineServices(config: CliConfig, nowMs: () => number): AsyncGenerator<Finding> {
  let services: Services | undefined;
  const connected = await check('connection', async () => {
    services = await connect(config);
    return config.mode === 'single' ? 'the operator socket accepts connections' : 'each service has its own address';
  });
  yield connected;
  if (services === undefined) return;
  try {
    const seen: SeenProcess[] = [];
    for (const name of serviceNames) {
      const health = await check(name, () => checkService(services!, name, seen, nowMs));
      yield health;
      if (!health.ok) continue;
      for (const further of furtherChecks[name] ?? []) yield await check(further.title, () => further.run(services!, nowMs(), config));
    }
    if (seen.length === 0) return;
    const own = config.tls instanceof TlsFiles ? config.tls.expiresAtMs : undefined;
    yield await check('versions', async () => checkVersions(seen));
    yield await check('clocks', async () => checkClocks(seen));
    yield await check('certificates', async () => checkCertificates(seen, own, nowMs()));
    yield await check('disks', async () => checkDisks(seen));
  } finally {
    services.close();
  }
}

/** The spool, as the gateway's readiness reports it. */
interface SpoolView {
  readonly waiting: number;
  readonly refused: number;
  readonly damaged_files: number;
}

/** What a gateway's readiness reports; each is absent when there is nothing to report. */
interface ReadyView {
  readonly spool?: SpoolView;
  readonly warnings?: readonly string[];
}

function readyOf(readyText: string): ReadyView {
  try {
    return JSON.parse(readyText) as ReadyView;
  } catch {
    return {};
  }
}

const gatewayCertificateFix =
  'Replace the files of its TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY; it reads them again within seconds, without a restart.';

const gatewayWarnings = {
  certificate: { title: 'gateway certificate', fault: "The gateway's certificate expires within two weeks.", fix: gatewayCertificateFix },
  certificate_expired: { title: 'gateway certificate', fault: "The gateway's certificate has expired.", fix: gatewayCertificateFix },
  spool_disk: {
    title: 'gateway disk',
    fault: "The disk with the gateway's spool is almost full.",
    fix: 'Free up disk space: when the disk is full and metering is unavailable, calls are refused.',
  },
  redis: {
    title: 'redis',
    fault: 'Redis does not answer the gateway, which counts calls against rate limits on its own or refuses calls that have limits.',
    fix: 'Start Redis again, or correct TOLLGATE_GATEWAY_REDIS_URL; docs/runbooks/redis-unavailable.md has the steps.',
  },
  proxy: {
    title: 'gateway proxy',
    fault:
      'TOLLGATE_GATEWAY_PUBLIC_URL begins with https, but no proxy is trusted: all users have the network address of the proxy, and share its limits.',
    fix: 'Let the proxy set X-Forwarded-For and X-Forwarded-Proto, then set TOLLGATE_GATEWAY_TRUST_PROXY=true (docs/operations.md, "Behind a reverse proxy").',
  },
} as const;

/** Raises a CliError when the spool contains something that an operator must handle. */
function checkSpool({ waiting, refused, damaged_files: damagedFiles }: SpoolView): string {
  if (refused + damagedFiles === 0) return `${waiting} ended calls wait for metering to record them`;
  throw new CliError(
    `The gateway's spool holds ${counted(refused, 'call')} that metering rejected permanently and ${counted(damagedFiles, 'damaged file')}.`,
    {
      fix: "Read refused.jsonl and *.damaged in its spool folder and the gateway's log, correct accounts with `tollgate balance adjust`, then move the files out of the folder.",
    },
  );
}

// The fix for other commands is to run `tollgate doctor`.
const unavailableFix = 'This check needs a service that does not respond: fix the faults of the services first.';

async function check(name: string, run: () => Promise<string>): Promise<Finding> {
  try {
    return { check: name, ok: true, detail: await run(), fix: '' };
  } catch (error) {
    const [fault = '', ...fix] = explain(error).lines;
    const isUnavailable = error instanceof AppError && ['service_unavailable', 'deadline_exceeded', 'overloaded'].includes(error.reason);
    return { check: name, ok: false, detail: fault.replace(/^error: /, ''), fix: isUnavailable ? unavailableFix : fix.join(' ') };
  }
}

/** Raises a CliError when this Node is too old. */
function checkNode(version: string): string {
  if (Number(version.split('.')[0]) >= nodeMajorMin) return version;
  throw new CliError(`Node ${version} is too old.`, { fix: `Use Node ${nodeMajorMin} or newer; ./tollgate and make use their own.` });
}

/** Raises a CliError when the gateway's clock differs from this machine's. */
function checkClock(theirsMs: number, oursMs: number): string {
  const skewMs = theirsMs - oursMs;
  if (Math.abs(skewMs) <= clockSkewMsMax) return `within ${clockSkewMsMax / 1000} s of the gateway's`;
  throw new CliError(
    `The gateway's clock is ${Math.abs(Math.round(skewMs / 1000))} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's.`,
    {
      fix: 'Synchronise both with NTP (timedatectl set-ntp true): keys, holds and prices expire by the clock.',
    },
  );
}

/** Queries each replica of a service, and adds those that answer to `seen`. */
async function checkService(services: Services, name: ServiceName, seen: SeenProcess[], nowMs: () => number): Promise<string> {
  const replicas = await services.replicas(name);
  const faults: string[] = [];
  const fixes = new Set<string>();
  let running: ProcessInfo | undefined;
  for (const replica of replicas) {
    try {
      const beganAtMs = nowMs();
      // A service that is not ready, for example because its disk is full, may still report its state.
      const [info, health] = await Promise.all([
        replica.process().then(
          (found) => found && { found, uncertainMs: (nowMs() - beganAtMs) / 2 },
          () => undefined,
        ),
        replica.checkHealth().then(
          () => undefined,
          (error: unknown) => ({ error }),
        ),
      ]);
      if (info !== undefined) {
        const { found, uncertainMs } = info;
        const label = replicas.length === 1 ? name : `${name} at ${replica.address}`;
        seen.push({ name: label, info: found, seenAtMs: beganAtMs + uncertainMs, uncertainMs });
      }
      if (health !== undefined) throw health.error;
      running ??= info?.found;
    } catch (error) {
      const why = explain(error).lines[0]!.replace(/^error: /, '');
      faults.push(replicas.length === 1 ? why : `${replica.address}: ${why}`);
      fixes.add(fixOf(name, error));
    }
  }
  if (faults.length > 0) {
    const some = replicas.length === 1 ? '' : `${faults.length} of ${replicas.length} replicas do not serve. `;
    throw new CliError(`${some}${faults.join(' ')}`, { fix: [...fixes].join(' ') });
  }
  const serving = replicas.length === 1 ? 'serving' : `${replicas.length} replicas serving`;
  if (running === undefined) return serving;
  const { version, nodeVersion, databaseEngine, databaseVersion, databaseLatencyUs, startedAtMs } = running;
  const database = `${databaseEngine} ${databaseVersion} (${(databaseLatencyUs / 1000).toFixed(1)} ms)`;
  return `${serving}; version ${version} on Node ${nodeVersion} and ${database}, since ${instant(startedAtMs)}`;
}

function fixOf(name: ServiceName, error: unknown): string {
  if (connectionFault(error) !== undefined)
    return `Check that the ${name} service runs, and in distributed mode TOLLGATE_${name.toUpperCase()}_ADDRESS and TOLLGATE_TLS_CA, _CERT and _KEY.`;
  return hasReason(error, 'deadline_exceeded')
    ? `The ${name} service, or its database, hangs: read their logs, and restart the one that hangs.`
    : `Read the log of the ${name} service to see what it waits for, such as its database.`;
}

interface FurtherCheck {
  readonly title: string;
  run(services: Services, nowMs: number, config: CliConfig): Promise<string>;
}

const furtherChecks: Partial<Record<ServiceName, readonly FurtherCheck[]>> = {
  auth: [
    {
      title: 'backups',
      async run({ auth }, nowMs) {
        const { lastBackupAtMs, oldestAccountAtMs } = await auth.getHealth({}, operatorCall());
        const sinceMs = lastBackupAtMs === 0n ? oldestAccountAtMs : lastBackupAtMs;
        const hours = Math.floor((nowMs - Number(sinceMs)) / 3_600_000);
        const isDue = sinceMs > 0n && hours >= backupHoursMax;
        if (!isDue) return lastBackupAtMs === 0n ? 'none yet; run `tollgate backup`' : `the last one ${counted(hours, 'hour')} ago`;
        throw new CliError(lastBackupAtMs === 0n ? 'There is no backup.' : `The last backup was made ${counted(hours, 'hour')} ago.`, {
          fix: 'Run `tollgate backup <folder>` every day; docs/backup.md has a timer for it.',
        });
      },
    },
    {
      title: 'secret key',
      async run(services, _nowMs, config) {
        const keys = await reportedKeys(services);
        const lacking = [...lackingFiles(keyFiles(config), keys)];
        if (lacking.length > 0) {
          throw new CliError(lacking.map(([path, ids]) => `${path} does not have the key ${ids.join(', ')} that is in use.`).join(' '), {
            fix: 'Restore the file from your copy before any process restarts; otherwise that process will not start.',
          });
        }
        const old = keys.filter(({ current, sealed }) => !current && sealed > 0n);
        const ids = [...new Set(keys.filter(({ current }) => current).map(({ id }) => id))];
        return `secrets are encrypted with ${ids.join(', ')}${old.length === 0 ? '' : `, in place of ${old.map(({ id }) => id).join(', ')}, which still encrypts some`}`;
      },
    },
    {
      title: 'audit log',
      async run({ users }, nowMs) {
        const {
          fault,
          eventsChecked: entriesChecked,
          restore,
        } = await users.verifyAuditLog({ number: 0n, hash: Buffer.alloc(0) }, operatorCall(verifyTimeoutMs));
        if (fault === '') {
          const isRecent = restore !== undefined && nowMs - Number(restore.atMs) < recentRestoreMs;
          const restored = isRecent ? `; restored on ${instant(restore.atMs)} from the backup of ${instant(restore.backupAtMs)}` : '';
          return `${counted(entriesChecked, 'entry', 'entries')} checked, none changed${restored}`;
        }
        throw new CliError(`The audit log was changed. ${fault}`, {
          fix: 'Copy the database of auth before anything else; then compare it with exports and backups.',
        });
      },
    },
    {
      title: 'notifications',
      async run({ notifications }, nowMs) {
        const { pending, oldestPendingAtMs, pausedAtMs, mailError, mailErrorOfOneRecipient } = await notifications.getDeliveryStatus(
          {},
          operatorCall(),
        );
        if (pausedAtMs > 0n) {
          throw new CliError(`Emails and webhooks have been paused since the restore of ${instant(pausedAtMs)}; ${pending} are pending.`, {
            fix: 'Run `tollgate notifications resume` once you are sure that the original installation will not run again.',
          });
        }
        const ageMs = oldestPendingAtMs === 0n ? 0 : nowMs - Number(oldestPendingAtMs);
        if (mailError !== '' && !mailErrorOfOneRecipient) {
          throw new CliError(`Emails are waiting because sending failed: ${mailError}.`, {
            fix: 'Check the mail server and the settings TOLLGATE_SMTP_…; the log of auth has its full response.',
          });
        }
        if (ageMs <= notificationAgeMsMax) {
          const remark = mailError === '' ? '' : `; sending to one recipient failed: ${mailError}`;
          return `${counted(pending, 'email or webhook request', 'emails and webhook requests')} waiting for delivery${remark}`;
        }
        throw new CliError(
          `${counted(pending, 'email or webhook request', 'emails and webhook requests')} waiting for delivery, the oldest for ${Math.round(ageMs / 1000)} s.`,
          {
            fix: 'Auth gives up after about an hour; read its log to see why it did not.',
          },
        );
      },
    },
  ],
  catalog: [
    {
      title: 'models',
      async run({ catalog }) {
        const { models } = await catalog.listModels({}, operatorCall());
        const offered = models.filter((model) => model.state !== ModelState.MODEL_STATE_RETIRED);
        const unpriced = offered.filter((model) => model.price === undefined);
        if (offered.length > unpriced.length)
          return `${offered.length} offered${unpriced.length === 0 ? '' : `, of which ${unpriced.length} have no price and are rejected`}`;
        for (const { id } of offered) {
          const { prices } = await catalog.listPriceVersions({ modelId: id }, operatorCall());
          const first = prices.at(-1);
          if (first === undefined) continue;
          throw new CliError(
            `No price is in force, so every call is refused; that of ${id} takes effect at ${instant(first.effectiveFromMs)}.`,
            {
              fix: 'If the clock is wrong, or was when the price was published, correct the clock (timedatectl), and publish a price that starts now: `tollgate price publish <model> --input <usd> --output <usd>`.',
            },
          );
        }
        throw new CliError('No model has a price, so every call is refused.', {
          fix: 'Run `tollgate price publish <model> --input <usd> --output <usd>`.',
        });
      },
    },
  ],
  ledger: [
    {
      title: 'books',
      run: checkBooks,
    },
    {
      title: 'holds',
      async run({ ledger }, nowMs) {
        const { openHolds, oldestOpenHoldAtMs, holdsPastExpiry } = await ledger.getHealth({}, operatorCall());
        if (holdsPastExpiry > overdueHoldsMax) {
          throw new CliError(`${counted(holdsPastExpiry, 'hold')} still open past expiry.`, {
            fix: 'The ledger expires them by itself; read its log to see why it does not.',
          });
        }
        return openHolds === 0n
          ? 'none open'
          : `${openHolds} open, the oldest for ${Math.max(0, Math.round((nowMs - Number(oldestOpenHoldAtMs)) / 1000))} s`;
      },
    },
    {
      title: 'notification outbox',
      async run({ ledger }, nowMs) {
        const { oldestUnshippedNotificationAtMs: oldestAtMs } = await ledger.getHealth({}, operatorCall());
        const ageMs = oldestAtMs === 0n ? 0 : nowMs - Number(oldestAtMs);
        if (ageMs <= outboxAgeMsMax) return 'auth receives the notifications of alerts';
        throw new CliError(`The notifications of alerts have waited for auth for ${Math.round(ageMs / 1000)} s.`, {
          fix: 'Auth delivers them once it receives them; read the log of the ledger to see why it does not.',
        });
      },
    },
  ],
  metering: [
    {
      title: 'outbox',
      async run({ metering }, nowMs) {
        const { pending, oldestPendingAtMs, openCalls, failed } = await metering.getOutbox({}, operatorCall());
        if (failed > 0n) {
          throw new CliError(`The ledger has rejected ${counted(failed, 'charge or refund', 'charges or refunds')} permanently.`, {
            fix: 'Run `tollgate usage unsettled` to see the calls and causes; then retry them, or close them with a reason.',
          });
        }
        const ageMs = pending === 0n ? 0 : nowMs - Number(oldestPendingAtMs);
        if (ageMs <= outboxAgeMsMax) return `${counted(pending, 'charge')} waiting for the ledger, ${counted(openCalls, 'call')} open`;
        throw new CliError(`${counted(pending, 'charge')} waiting for the ledger, the oldest for ${Math.round(ageMs / 1000)} s.`, {
          fix: 'They are settled once the ledger accepts them; read the log of the metering service to see why it does not.',
        });
      },
    },
    {
      title: 'quarantine',
      async run({ metering }) {
        const { quarantinedLastHour } = await metering.getHealth({}, operatorCall());
        if (quarantinedLastHour === 0n) return 'no implausible usage in the last hour';
        throw new CliError(
          `Upstreams reported implausible usage for ${counted(quarantinedLastHour, 'call')} in the last hour; the gateway counted their tokens instead.`,
          {
            fix: 'Run `tollgate usage list --from 1h --json` and read outcome_detail where quarantined is true; it names the fault.',
          },
        );
      },
    },
    { title: 'reconcile', run: checkReconciliation },
  ],
  inference: [
    {
      title: 'upstreams',
      async run({ inference }) {
        const [{ upstreams }, health] = await Promise.all([
          inference.listUpstreams({}, operatorCall()),
          inference.listTargetHealth({}, operatorCall()),
        ]);
        const enabled = upstreams.filter((upstream) => upstream.enabled);
        const disabled = upstreams.filter((upstream) => !upstream.enabled).map(({ id }) => id);
        const others = disabled.length === 0 ? '' : `; disabled: ${disabled.join(', ')}`;
        if (enabled.length === 0)
          throw new CliError('No upstream is enabled, so no model can be served.', {
            fix: 'Run `tollgate upstream add` or `tollgate upstream enable`.',
          });
        checkUpstreams(enabled, health.targets);
        const isSandboxOnly = enabled.every((upstream) => upstream.apiFormat === ApiFormat.API_FORMAT_SANDBOX);
        return isSandboxOnly
          ? `only the sandbox${others}; \`tollgate upstream add\` adds a vendor`
          : `${enabled.map((upstream) => upstream.id).join(', ')} enabled${others}`;
      },
    },
  ],
};

async function checkReconciliation({ metering }: Services, nowMs: number): Promise<string> {
  const { recent, full, drifts } = await metering.getReconciliation({}, operatorCall());
  if (drifts.length > 0) {
    const [first] = drifts;
    throw new CliError(
      `Records and ledger disagree in ${counted(drifts.length, 'place')}: ${first!.subject}${first!.callId === '' ? '' : ` of ${first!.callId}`}.`,
      {
        fix: 'Run `tollgate ledger verify`; docs/reconciling.md explains each one.',
      },
    );
  }
  if (recent === undefined) return 'has not run yet';
  const agoMs = nowMs - Number(recent.finishedAtMs);
  if (agoMs > reconcileAgeMsMax) {
    throw new CliError(`The books were last compared ${counted(Math.round(agoMs / 60_000), 'minute')} ago.`, {
      fix: 'Read the log of the metering service to see why it cannot compare them.',
    });
  }
  const whole = full === undefined ? 'everything not yet' : `everything at ${instant(full.finishedAtMs)}`;
  return `no drift; compared ${Math.round(agoMs / 1000)} s ago, ${whole}`;
}

async function checkBooks({ ledger, metering }: Services, nowMs: number): Promise<string> {
  const result = await ledger.verify({ accountId: '' }, operatorCall(booksTimeoutMs)).catch((error: unknown) => {
    if (hasReason(error, 'deadline_exceeded')) return undefined;
    throw error;
  });
  const checkedText = (entries: bigint, accounts: bigint): string =>
    `${counted(entries, 'entry', 'entries')} in ${counted(accounts, 'account')}`;
  const fix = 'Run `tollgate balance verify` to see them.';
  if (result !== undefined) {
    if (isRight(result)) return `balances match the journal: ${checkedText(result.entriesChecked, result.accountsChecked)}`;
    throw new CliError(`The journal differs in ${counted(result.drifts.length, 'figure')}.`, { fix });
  }
  const tooLong = `a new check takes longer than ${booksTimeoutMs / 1000} s; \`tollgate balance verify\` runs one`;
  const { full, drifts: current } = await metering.getReconciliation({}, operatorCall());
  const drifts = current.filter(({ check: of }) => of === DriftCheck.DRIFT_CHECK_BOOKS).length;
  if (drifts > 0) throw new CliError(`The journal differed in ${counted(drifts, 'figure')} when it was last checked.`, { fix });
  const agoMs = nowMs - Number(full?.finishedAtMs ?? 0n);
  if (full === undefined || agoMs > fullReconcileAgeMsMax) {
    const last = full === undefined ? 'has not been checked yet' : `was last checked at ${instant(full.finishedAtMs)}`;
    throw new CliError(`The journal ${last}, and a new check takes longer than ${booksTimeoutMs / 1000} s.`, {
      fix: 'Run `tollgate balance verify`, and see docs/runbooks/reconcile-stalled.md.',
    });
  }
  const ago = `${counted(Math.max(0, Math.round(agoMs / 60_000)), 'minute')} ago`;
  return `balances matched the journal when it was checked ${ago}: ${checkedText(full.entriesChecked, full.accountsChecked)}; ${tooLong}`;
}
