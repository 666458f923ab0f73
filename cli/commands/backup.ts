// tollgate backup, tollgate restore: backs up an installation, and restores a backup.
import { resolve } from 'node:path';
import { Command } from 'commander';
import { createLogger } from '#kit/log.js';
import type { Manifest, Restored, RestoreRequest } from '../../deploy/backup/index.js';
import type { Cli } from '../cli.js';
import { type ServiceName, serviceNames } from '#rules/services.js';
import { type CliConfig, parseCliConfig } from '../config.js';
import { operatorCall } from '../connect.js';
import { CliError } from '../errors.js';
import { instant, type View } from '../output.js';
import { parseInstant } from '../options/parse.js';
import { reportedKeys } from '../secret-keys.js';
import { agrees, driftView, verificationView } from '../views/reconcile.js';

// Composes services, so it is loaded only for these commands.
const loadBackups = () => import('../../deploy/backup/index.js');

const backupView: View<Manifest & { folder: string }> = {
  json: (backup) => ({
    folder: backup.folder,
    mode: backup.mode,
    engine: backup.engine,
    started_at: backup.started_at,
    finished_at: backup.finished_at,
    bytes: sizeOf(backup),
    secret_key_ids: backup.secret_keys.map(({ id }) => id),
  }),
  columns: [
    { title: 'backup', text: ({ folder }) => folder },
    { title: 'calls answered before', text: (backup) => instant(startOf(backup)) },
    { title: 'size', text: (backup) => `${(sizeOf(backup) / 1e6).toFixed(2)} MB` },
    {
      title: 'needs secret key',
      text: (backup) => backup.secret_keys.map(({ id, used_by: users }) => `${id} (${users.join(', ')})`).join(', '),
    },
  ],
};

function startOf({ started_at: startedAt }: Manifest): bigint {
  return BigInt(Date.parse(startedAt));
}

function sizeOf({ files }: Manifest): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The command `backup`. */
export function backupCommand(cli: Cli): Command {
  return new Command('backup')
    .description('Back up the installation while calls run: databases and spool, not the secret key and the certificates (docs/backup.md).')
    .argument('[folder]', 'a new folder for the backup')
    .option(
      '--record',
      'make no backup, but record that another program has just made one, for `tollgate doctor` and the alert TollgateBackupOverdue',
    )
    .action(async (target: string | undefined, { record: isMade }: { record?: boolean }) => {
      if ((target === undefined) !== (isMade === true))
        throw new CliError(
          target === undefined ? 'No folder for the backup was specified.' : '--record cannot be combined with a folder.',
          {
            fix: 'Specify a new folder for the backup, or only --record.',
            exitCode: 2,
          },
        );
      if (target === undefined) {
        await cli.withServices(({ auth }) => auth.recordBackup({}, operatorCall()));
        return cli.out.note('The backup is recorded.');
      }
      const config = cli.config();
      const folder = resolve(target);
      const { backUpDataFolder, backUpServers } = await loadBackups();
      const { spoolDir } = config;
      const keys = await keysInUse(cli);
      // In distributed mode a data folder is only that of the launcher, which names it in operator.env.
      const manifest = await (config.mode === 'single'
        ? backUpDataFolder(folder, { dataDir: resolve(config.dataDir), spoolDir, keys })
        : backUpServers(folder, await serviceUrls(config), { dataDir: cli.world.env['TOLLGATE_DATA_DIR'], spoolDir, keys }));
      cli.out.show(backupView, { ...manifest, folder });
      if (manifest.secret_keys.length === 0)
        cli.out.aside(
          'The backup does not say which secret keys it needs, because not every service reported its own, so a restore will not ask for them.',
        );
      await record(cli);
      cli.out.note('Keep a copy of the secret key elsewhere: without it, the secrets in the backup cannot be decrypted.');
    });
}

/** Returns the keys that encrypt secrets, as the services report them; undefined if they do not run. */
async function keysInUse(cli: Cli): Promise<Manifest['secret_keys'] | undefined> {
  const reported = await cli.withServices(reportedKeys).catch(() => []);
  const users = new Map<string, string[]>();
  for (const { id, service, current, sealed } of reported) if (current || sealed > 0n) users.set(id, [...(users.get(id) ?? []), service]);
  return users.size === 0 ? undefined : [...users].map(([id, services]) => ({ id, used_by: services }));
}

/** Raises a CliError that names the missing settings. */
async function serviceUrls({ databases }: CliConfig): Promise<Readonly<Record<ServiceName, string>>> {
  const { schemasOn } = await loadBackups();
  const onServer = databases.server === undefined ? undefined : schemasOn(databases.server);
  const urls = Object.fromEntries(serviceNames.map((name) => [name, databases[name] ?? onServer?.[name]]));
  const missing = serviceNames.filter((name) => urls[name] === undefined);
  if (missing.length === 0) return urls as Record<ServiceName, string>;
  throw new CliError(`The address of the database is not set for: ${missing.join(', ')}.`, {
    fix: 'Set TOLLGATE_BACKUP_DATABASE_URL to the server with all databases, or TOLLGATE_<SERVICE>_DATABASE_URL for each service.',
    exitCode: 2,
  });
}

/** Records the backup for `tollgate doctor`, which is not possible while the installation is not running. */
async function record(cli: Cli): Promise<void> {
  try {
    await cli.withServices(({ auth }) => auth.recordBackup({}, operatorCall()));
  } catch (error) {
    cli.out.aside(
      `The backup is complete, but \`tollgate doctor\` will not know of it: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

interface BinaryLogOptions {
  readonly binaryLogs?: string[];
  readonly until?: bigint;
}

interface RestoreOptions extends BinaryLogOptions {
  readonly secretKey?: string[];
  readonly withoutSecretKey?: boolean;
  readonly deliver?: boolean;
}

/** The command `restore`. */
export function restoreCommand(cli: Cli): Command {
  return new Command('restore')
    .description(
      'Restore a backup into the empty folder TOLLGATE_DATA_DIR, then reconcile and verify the ledger. Exit code 1 when verification fails.',
    )
    .argument('<folder>', 'the folder of the backup')
    .option('--secret-key <file...>', 'files, or folders of files, with the secret keys that the backup needs')
    .option('--without-secret-key', 'restore without the lost secret key: the secrets of upstreams and webhooks must then be set again')
    .option('--deliver', 'send emails and webhooks after the start; only if the original installation will not run again')
    .option('--binary-logs <file...>', 'apply these binary logs of MariaDB, in order, from the one that manifest.json names')
    .option('--until <time>', 'the end of the binary logs that are applied, as ISO 8601 in UTC; everything by default', (text) =>
      parseInstant(text, cli.world.nowMs(), 'back'),
    )
    .action(async (folder: string, options: RestoreOptions) => {
      const binaryLogs = binaryLogsOf(options);
      const { dataDir, restoreDatabaseUrl: serverUrl } = parseCliConfig({ ...cli.world.env, ...withoutAddresses });
      const { restore } = await loadBackups();
      const restored = await restore({
        source: resolve(folder),
        dataDir: resolve(dataDir),
        serverUrl,
        secretKeyFiles: options.secretKey ?? [],
        withoutSecretKey: options.withoutSecretKey === true,
        deliver: options.deliver === true,
        ...(binaryLogs === undefined ? {} : { binaryLogs }),
        env: cli.world.env,
        log: createLogger({ name: 'restore', level: 'warn' }, { write: (line) => cli.world.stderr(line) }),
      });
      report(cli, restored, options);
    });
}

// A restore calls no running gateway, so it needs no address.
const withoutAddresses = Object.fromEntries(serviceNames.map((name) => [`TOLLGATE_${name.toUpperCase()}_ADDRESS`, undefined]));

/** Returns the binary logs to apply, with their end as MariaDB's programs read it. Raises a CliError if there is only an end. */
export function binaryLogsOf({ binaryLogs: files, until }: BinaryLogOptions): RestoreRequest['binaryLogs'] {
  if (files !== undefined)
    return { files, until: until === undefined ? undefined : new Date(Number(until)).toISOString().slice(0, 19).replace('T', ' ') };
  if (until === undefined) return undefined;
  throw new CliError('--until needs binary logs: a backup alone can only be restored as of its own time.', {
    fix: 'Specify --binary-logs too.',
    exitCode: 2,
  });
}

function report(cli: Cli, restored: Restored, { deliver, binaryLogs, until }: RestoreOptions): void {
  const { verification, settledAgain, callsInFlight, spoolLeft, manifest, isOpen } = restored;
  cli.out.show(verificationView, verification, {
    backup_started_at: manifest.started_at,
    settled_again: settledAgain,
    calls_in_flight: callsInFlight,
    spool_left: spoolLeft,
  });
  if (isOpen) {
    if (binaryLogs === undefined)
      cli.out.note(`The restored data contains every call that was answered before ${instant(startOf(manifest))}.`);
    else cli.out.note(`The restored data contains everything in the binary logs${until === undefined ? '' : ` before ${instant(until)}`}.`);
    if (callsInFlight > 0)
      cli.out.note(`Calls in flight: ${callsInFlight}. They are charged up to their last checkpoint soon after the start.`);
    if (deliver !== true) {
      cli.out.note(
        'Emails and webhooks are paused until you run `tollgate notifications resume`. Do so once you are sure that the original installation will not run again.',
      );
    }
    return;
  }
  if (!cli.out.json && !agrees(verification)) cli.out.list(driftView, verification.drifts);
  if (!agrees(verification))
    throw new CliError('Records, prices, holds, balances or the journal disagree, so the restored data cannot be started.', {
      fix: 'Restore another backup; docs/reconciling.md explains what each drift means.',
    });
  throw new CliError(`${spoolLeft} ended calls in the spool could not be recorded, so the restored data cannot be started.`, {
    fix: 'Read refused.jsonl and *.damaged in its spool folder; docs/runbooks/spool-set-aside.md says what to do.',
  });
}
