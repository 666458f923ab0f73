// Detects the mode whose data a folder holds. Another mode would start without that data, and so must not open the folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '#client/errors/app-error.js';

const kinds = {
  single: { mark: 'books.db', name: 'a single process', command: 'make run' },
  mariadb: { mark: 'mariadb', name: 'the distributed mode on MariaDB', command: 'make run-distributed' },
  galera: { mark: 'galera', name: 'the distributed mode on Galera', command: 'make run-galera' },
} as const;

/** Raises failed_precondition for a folder that holds the data of another mode, and none of this one. */
export function refuseOtherData(dataDir: string, kind: keyof typeof kinds): void {
  const holds = ({ mark }: { readonly mark: string }): boolean => existsSync(join(dataDir, mark));
  const other = holds(kinds[kind]) ? undefined : Object.values(kinds).find(holds);
  if (other === undefined) return;
  throw new AppError(
    'failed_precondition',
    `${dataDir} holds the data of ${other.name}. Start it with \`${other.command}\`, or set TOLLGATE_DATA_DIR to another folder.`,
  );
}
