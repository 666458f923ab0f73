// The checks of `tollgate doctor` that compare all processes with each other. Pure.
import type { ProcessInfo } from '#proto/process/v1/process.js';
import { certificateMsMin, isAlmostFull } from '#rules/operating-limits.js';
import { CliError } from '../errors.js';
import { instant } from '../output.js';

/** A process that answered. */
export interface SeenProcess {
  /** "ledger", or "ledger at 10.0.0.2:7103" where there are several. */
  readonly name: string;
  readonly info: ProcessInfo;
  /** The clock of this machine, halfway through the call. */
  readonly seenAtMs: number;
  /** By how much `seenAtMs` may be wrong. */
  readonly uncertainMs: number;
}

/** A clock that differs by more makes keys, holds and prices expire at different instants in different processes. */
const clockSkewMsMax = 3000;

/** Raises a CliError when processes run different versions. */
export function checkVersions(processes: readonly SeenProcess[]): string {
  const versions = [...new Set(processes.map(({ info }) => info.version))];
  if (versions.length === 1) return `${versions[0]} everywhere`;
  const namesOf = (version: string): string[] => processes.filter(({ info }) => info.version === version).map(({ name }) => name);
  const found = versions.map((version) => `${version} (${namesOf(version).join(', ')})`);
  throw new CliError(`The processes run different versions: ${found.join(', ')}.`, {
    fix: 'Finish the upgrade; two consecutive versions may run side by side meanwhile (docs/rollouts.md).',
  });
}

/** Raises a CliError when the clocks of two processes differ. */
export function checkClocks(processes: readonly SeenProcess[]): string {
  const skews = processes
    .map(({ name, info, seenAtMs, uncertainMs }) => ({ name, skewMs: Number(info.nowMs) - seenAtMs, uncertainMs }))
    .sort((one, other) => one.skewMs - other.skewMs);
  const [first, last] = [skews[0]!, skews.at(-1)!];
  const apartMs = last.skewMs - first.skewMs - last.uncertainMs - first.uncertainMs;
  if (apartMs <= clockSkewMsMax) return `within ${clockSkewMsMax / 1000} s of each other`;
  throw new CliError(`The clock of ${last.name} is ${Math.round(apartMs / 1000)} s ahead of that of ${first.name}.`, {
    fix: 'Synchronise the machines with NTP (timedatectl set-ntp true): keys, holds and prices expire by the clock.',
  });
}

/** Raises a CliError when a certificate has expired or expires soon. `ownExpiresAtMs` is that of the operator. */
export function checkCertificates(processes: readonly SeenProcess[], ownExpiresAtMs: number | undefined, nowMs: number): string {
  const all = processes.map(({ name, info }) => ({ name, atMs: Number(info.certificateExpiresAtMs) })).filter(({ atMs }) => atMs > 0);
  if (ownExpiresAtMs !== undefined) all.push({ name: 'the operator', atMs: ownExpiresAtMs });
  all.sort((one, other) => one.atMs - other.atMs);
  const [first] = all;
  if (first === undefined) return 'none in use';
  if (first.atMs - nowMs >= certificateMsMin) return `valid until ${instant(BigInt(first.atMs))} or longer`;
  const listed = (fromMs: number, toMs: number): string =>
    all
      .filter(({ atMs }) => atMs > fromMs && atMs <= toMs)
      .map(({ name, atMs }) => `${name}: ${instant(BigInt(atMs))}`)
      .join(', ');
  const [expired, soon] = [listed(0, nowMs), listed(nowMs, nowMs + certificateMsMin)];
  const faults = [
    ...(expired === '' ? [] : [`Certificates have expired: ${expired}.`]),
    ...(soon === '' ? [] : [`Certificates expire soon: ${soon}.`]),
  ];
  throw new CliError(faults.join(' '), {
    fix: 'Replace the files of TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY; processes read them again within seconds, without a restart.',
  });
}

/** Raises a CliError when a disk with a database is almost full. */
export function checkDisks(processes: readonly SeenProcess[]): string {
  const disks = processes
    .map(({ name, info }) => ({ name, free: Number(info.diskFreeBytes), total: Number(info.diskTotalBytes) }))
    .filter(({ total }) => total > 0);
  if (disks.length === 0) return 'the databases are on other machines; watch their disks there';
  const shown = ({ name, free, total }: (typeof disks)[number]): string => `${name}: ${gigabytes(free)} of ${gigabytes(total)} free`;
  const full = disks.filter(({ free, total }) => isAlmostFull(free, total));
  if (full.length === 0) return shown(disks.reduce((least, disk) => (disk.free < least.free ? disk : least)));
  throw new CliError(`Disks with databases are almost full: ${full.map(shown).join(', ')}.`, {
    fix: 'Free up disk space: when a disk is full, calls are refused. docs/storage.md shows what uses the space and what can be archived.',
  });
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
