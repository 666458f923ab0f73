// Issues certificates to callers and writes their files. Private keys never leave this machine.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolders } from '#kit/config/folder.js';
import type { IssuedCertificate, Pair } from '#kit/tls/authority.js';
import type { CliConfig } from '../config.js';
import { CliError } from '../errors.js';

/** Returns the certificate and key of the installation's authority. Raises a CliError when this machine does not have them. */
export function readAuthority(config: CliConfig): Pair {
  const ca = config.mode === 'single' ? join(config.dataDir, 'tls', 'ca.pem') : config.tlsCaPath;
  const keyPath = config.tlsCaKeyPath ?? (ca === undefined ? undefined : join(dirname(ca), 'ca.key'));
  if (ca === undefined || keyPath === undefined || !existsSync(ca) || !existsSync(keyPath)) {
    throw new CliError('The key of the certificate authority is not on this machine, so no certificate can be issued.', {
      fix: "Set TOLLGATE_TLS_CA and TOLLGATE_TLS_CA_KEY, or register a certificate of your company's own PKI with --identity.",
    });
  }
  return { cert: readFileSync(ca, 'utf8'), key: readFileSync(keyPath, 'utf8') };
}

/** Issues a certificate that identifies a caller. */
export async function issueFor(authority: Pair, name: string, days: number): Promise<IssuedCertificate> {
  const { issueCertificate } = await import('#kit/tls/authority.js');
  return issueCertificate(authority, { commonName: name, days, isClient: true, hosts: [] });
}

/** Files that are put in place all together or not at all. */
export interface StagedFiles {
  readonly paths: { readonly cert: string; readonly key: string; readonly ca: string };
  /** Puts the files in place. */
  commit(): void;
  /** Removes what was written. */
  discard(): void;
}

/**
 * Writes NAME.crt, NAME.key (mode 0600) and ca.crt next to their final paths. Raises a CliError when the first two exist and must not be
 * replaced.
 */
export function stageFiles(folder: string, name: string, issued: Pair, authority: Pair, mayReplace: boolean): StagedFiles {
  const paths = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`), ca: join(folder, 'ca.crt') };
  const taken = [paths.cert, paths.key].find((path) => !mayReplace && existsSync(path));
  if (taken !== undefined) {
    throw new CliError(`${taken} exists already.`, { fix: 'Move it, or choose another folder with --out.' });
  }
  const staged = (path: string): string => `${path}.new`;
  createFolders(folder, 0o777);
  const write = (path: string, text: string, mode: number): void => {
    rmSync(staged(path), { force: true });
    writeFileSync(staged(path), text, { mode, flag: 'wx' });
  };
  write(paths.key, issued.key, 0o600);
  write(paths.cert, issued.cert, 0o644);
  write(paths.ca, authority.cert, 0o644);
  return {
    paths,
    commit: () => Object.values(paths).forEach((path) => renameSync(staged(path), path)),
    discard: () => Object.values(paths).forEach((path) => rmSync(staged(path), { force: true })),
  };
}
