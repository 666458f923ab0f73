// Runs MariaDB's own programs: mariadb-dump, mariadb and mariadb-binlog.
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { AppError } from '#client/errors/app-error.js';
import { type MysqlAddress, type MysqlHost, type MysqlTls, parseMysqlUrl } from '#kit/db/mysql/address.js';
import { faultOf } from '#kit/db/mysql/probe.js';
import { findProgram, type Program } from '../distributed/mariadb/programs.js';

/** A position in the binary log of a server. */
export interface BinaryLogPosition {
  readonly file: string;
  readonly position: number;
}

const errorCharsMax = 2000;
const probeMs = 5000;
// A dump names the position in one of its first lines.
const headCharsMax = 20_000;
// Twice the longest value that a column can hold, which a dump writes in hexadecimal.
const packetBytesMax = 64 * 1024 * 1024;

/**
 * Dumps these schemas of one server into a compressed file, all as of one moment, while it is written to (InnoDB's consistent snapshot). Returns the
 * position in the binary log at that moment, if the server writes one. Raises failed_precondition with the program's message.
 */
export async function dump(
  url: string,
  schemas: readonly string[],
  hasBinaryLog: boolean,
  path: string,
): Promise<BinaryLogPosition | undefined> {
  let head = '';
  await withOptionsFile(url, async (options) => {
    const args = [
      options,
      '--single-transaction',
      '--skip-lock-tables',
      '--quick',
      '--hex-blob',
      '--default-character-set=utf8mb4',
      `--max-allowed-packet=${packetBytesMax}`,
      ...(hasBinaryLog ? ['--master-data=2'] : []),
      '--databases',
      ...schemas,
    ];
    const child = start('mariadb-dump', args);
    child.output.on('data', (chunk: Buffer) => {
      if (head.length < headCharsMax) head += chunk.toString('latin1');
    });
    await Promise.all([
      pipeline(child.output, createGzip({ level: 1 }), createWriteStream(path, { mode: 0o600, flush: true })),
      child.ended,
    ]);
  });
  const position = /MASTER_LOG_FILE='([^']+)', MASTER_LOG_POS=(\d+)/.exec(head);
  return position === null ? undefined : { file: position[1]!, position: Number(position[2]) };
}

/** Loads a file of `dump` into a server. Raises failed_precondition with the program's message. */
export async function load(url: string, path: string): Promise<void> {
  await withOptionsFile(url, async (options) => {
    const child = start('mariadb', [options, `--max-allowed-packet=${packetBytesMax}`, '--default-character-set=utf8mb4']);
    await Promise.all([feed([createReadStream(path), createGunzip()], child), child.ended]);
  });
}

/**
 * Applies what binary logs have of one schema between two positions, of which the second is in the last log, or up to an earlier instant (UTC,
 * "2026-11-23 10:00:00"). Raises failed_precondition with the message of the program that failed.
 */
export async function applyBinaryLogs(
  url: string,
  schema: string,
  files: readonly string[],
  { from, to, until }: { readonly from: number; readonly to: number; readonly until: string | undefined },
): Promise<void> {
  await withOptionsFile(url, async (options) => {
    const reader = start(
      'mariadb-binlog',
      [
        // Option files of this machine may have options of other clients, which it refuses.
        '--no-defaults',
        `--start-position=${from}`,
        `--stop-position=${to}`,
        `--database=${schema}`,
        ...(until === undefined ? [] : [`--stop-datetime=${until}`]),
        ...files,
      ],
      { TZ: 'UTC' },
    );
    const writer = start('mariadb', [options, `--max-allowed-packet=${packetBytesMax}`, '--binary-mode']);
    await Promise.all([feed([reader.output], writer), reader.ended, writer.ended]);
  });
}

interface Running {
  readonly input: NodeJS.WritableStream;
  readonly output: Readable;
  /** Rejects with what the program wrote to standard error if it fails. */
  readonly ended: Promise<void>;
}

function start(program: Program, args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(findProgram(program), args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-errorCharsMax)));
  if (program === 'mariadb') child.stdout.resume();
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new AppError('failed_precondition', `${program} failed: ${errors.trim()}`));
    });
  });
  return { input: child.stdin, output: child.stdout, ended };
}

/** Writes a stream to a program. That the program ended early is reported by the program. */
async function feed(streams: readonly (NodeJS.ReadableStream | NodeJS.ReadWriteStream)[], { input, ended }: Running): Promise<void> {
  await pipeline([...streams, input] as never).catch(async (error: unknown) => {
    await ended;
    throw error;
  });
}

/** Runs `work` with the option that names a file with the login, so that the password is no argument, which every user can see. */
async function withOptionsFile(url: string, work: (option: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-login-'));
  try {
    const path = join(folder, 'client.cnf');
    const address = parseMysqlUrl(url);
    writeFileSync(path, `[client]\n${loginOf(address, await servingHost(address)).join('\n')}\n`, { mode: 0o600 });
    await work(`--defaults-file=${path}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the first host that accepts writes, to which the services write too. Raises failed_precondition if none does. */
async function servingHost({ hosts, ...login }: MysqlAddress): Promise<MysqlHost> {
  if (hosts.length === 1) return hosts[0]!;
  const faults: string[] = [];
  for (const host of hosts) {
    const fault = await faultOf(host, login, probeMs);
    if (fault === undefined) return host;
    faults.push(`${host.host}:${host.port}: ${fault}`);
  }
  throw new AppError('failed_precondition', `None of the hosts of the database can be used (${faults.join('; ')}).`);
}

function loginOf({ socketPath, user, password, tls }: MysqlAddress, { host, port }: MysqlHost): string[] {
  const place = socketPath === undefined ? ['protocol=tcp', `host=${quoted(host)}`, `port=${port}`] : [`socket=${quoted(socketPath)}`];
  return [`user=${quoted(user)}`, `password=${quoted(password)}`, ...place, ...tlsLines(tls)];
}

function tlsLines(tls: MysqlTls | undefined): string[] {
  if (tls === undefined) return [];
  const files = { 'ssl-ca': tls.ca, 'ssl-cert': tls.client?.cert, 'ssl-key': tls.client?.key };
  const lines = Object.entries(files).flatMap(([name, path]) => (path === undefined ? [] : [`${name}=${quoted(path)}`]));
  return ['ssl', ...lines, ...(tls.verifiesHost ? ['ssl-verify-server-cert'] : [])];
}

/** Returns a value as option files have it. */
function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
