// tollgate secret-key: the keys that encrypt secrets at rest, and their rotation.
import { setTimeout as pause } from 'node:timers/promises';
import { Command } from 'commander';
import { newSecretKey, readSecretKeys, type SecretKey, writeSecretKeys } from '#kit/secrets/secret-key.js';
import type { Cli } from '../cli.js';
import { CliError } from '../errors.js';
import type { View } from '../output.js';
import { keyFiles, type ReportedKey, reportedKeys, type SealingService } from '../secret-keys.js';

// The services read their files every few seconds.
const waitMsMax = 60_000;
const pollMs = 250;

const keyView: View<ReportedKey> = {
  json: ({ service, id, current, sealed }) => ({ service, id, current, sealed_secrets: Number(sealed) }),
  columns: [
    { title: 'service', text: ({ service }) => service },
    { title: 'key', text: ({ id }) => id },
    { title: 'use', text: ({ current }) => (current ? 'encrypts and decrypts' : 'decrypts') },
    { title: 'secrets', text: ({ sealed }) => sealed.toString(), align: 'right' },
  ],
};

/** The noun `secret-key`. */
export function secretKeyCommand(cli: Cli): Command {
  const secretKey = new Command('secret-key').description('The keys that encrypt secrets in the databases, and their rotation.');

  secretKey
    .command('show')
    .description('Show the keys of each service by their ids, and how many secrets each encrypts.')
    .action(() => cli.withServices(async (services) => cli.out.list(keyView, await reportedKeys(services))));

  secretKey
    .command('rotate')
    .description(
      'Add a new key to the key files on this machine, and wait until every secret is encrypted with it. The old keys remain until `prune`.',
    )
    .option('--file <path...>', 'the key files; by default those in TOLLGATE_DATA_DIR')
    .action((options: { file?: string[] }) => rotate(cli, options.file));

  secretKey
    .command('prune')
    .description(
      'Remove old keys that no longer encrypt anything from the key files on this machine, and wait until the services have dropped them.',
    )
    .option('--file <path...>', 'the key files; by default those in TOLLGATE_DATA_DIR')
    .action((options: { file?: string[] }) => prune(cli, options.file));

  return secretKey;
}

async function rotate(cli: Cli, given: readonly string[] | undefined): Promise<void> {
  const files = pathsOf(cli, given);
  const newIds = new Set<string>();
  await cli.withServices(async (services) => {
    const oldIds = new Set([...files.values()].flat().map(({ id }) => id));
    const users = new Set(
      (await reportedKeys(services)).filter(({ id, current }) => current && oldIds.has(id)).map(({ service }) => service),
    );
    for (const [path, keys] of files) {
      const key = newSecretKey();
      writeSecretKeys(path, [key, ...keys]);
      newIds.add(key.id);
    }
    let reported: ReportedKey[] = [];
    for (const untilMs = Date.now() + waitMsMax; Date.now() < untilMs; await pause(pollMs)) {
      reported = await reportedKeys(services);
      const isBehind = ({ id, current, sealed }: ReportedKey): boolean => (current ? !newIds.has(id) : sealed > 0n);
      if (users.size > 0 && !reported.some((key) => users.has(key.service) && isBehind(key))) {
        cli.out.list(keyView, reported);
        cli.out.note(
          `Every secret is encrypted with the new key. Keep a copy of ${[...files.keys()].join(', ')} elsewhere. ` +
            'Earlier backups need the old keys; run `tollgate secret-key prune` when you no longer need them here.',
        );
        return;
      }
    }
    cli.out.list(keyView, reported);
    throw new CliError('Not every service uses the new key yet.', {
      fix: 'Check with `tollgate secret-key show` that they read these files; nothing is lost, because the old keys are still in them.',
    });
  });
}

async function prune(cli: Cli, given: readonly string[] | undefined): Promise<void> {
  const files = pathsOf(cli, given);
  await cli.withServices(async (services) => {
    let reported = await reportedKeys(services);
    const removed = new Set<string>();
    for (const [path, keys] of files) {
      const [current, ...old] = keys;
      const used = old.filter(({ id }) => reported.some((key) => key.id === id && (key.current || key.sealed > 0n)));
      if (used.length > 0 || !reported.some(({ id, current: isCurrent }) => isCurrent && id === current!.id)) {
        throw new CliError(`The old keys in ${path} are still in use, or its first key is not in use yet.`, {
          fix: 'Wait a minute and run `tollgate secret-key show`.',
        });
      }
      writeSecretKeys(path, [current!]);
      for (const { id } of old) removed.add(id);
      cli.out.note(`${path}: ${old.length === 0 ? 'no old keys' : `removed ${old.map(({ id }) => id).join(', ')}`}`);
    }
    for (const untilMs = Date.now() + waitMsMax; reported.some(({ id }) => removed.has(id)) && Date.now() < untilMs; await pause(pollMs))
      reported = await reportedKeys(services);
    cli.out.list(keyView, reported);
  });
}

/** Returns the keys in each file. Raises a CliError when there is no file. */
function pathsOf(cli: Cli, given: readonly string[] | undefined): Map<string, readonly SecretKey[]> {
  const paths: readonly string[] = given ?? [...(keyFiles(cli.config()) as Map<string, SealingService[]>).keys()];
  const files = new Map(paths.map((path) => [path, readSecretKeys(path) ?? []]));
  const missing = [...files].filter(([, keys]) => keys.length === 0).map(([path]) => path);
  if (files.size > 0 && missing.length === 0) return files;
  throw new CliError(missing.length > 0 ? `${missing.join(', ')} does not exist.` : 'There is no key file on this machine.', {
    fix: 'Name the key files with --file, or set TOLLGATE_DATA_DIR. For files on other machines see docs/backup.md.',
  });
}
