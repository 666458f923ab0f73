// Classifies database errors, independently of the driver.

interface DriverError {
  code?: string;
  errno?: number;
  /** Set by mysql2: the connection is unusable. */
  fatal?: boolean;
  /** Set by Node: the system call that failed. */
  syscall?: string;
}

function driverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? (error as DriverError) : {};
}

/** Reports whether a row with this primary or unique key exists. */
export function isDuplicate(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 1062 || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_UNIQUE';
}

/**
 * Reports whether the table (1050), column (1060) or index (1061) that a statement creates exists, or the table (1051), column or index (1091) that it drops
 * does not. MySQL only.
 */
export function isAlreadyDone(error: unknown): boolean {
  return [1050, 1060, 1061, 1051, 1091].includes(driverError(error).errno ?? 0);
}

/** Reports whether the table does not exist (1146). MySQL only. */
export function isTableMissing(error: unknown): boolean {
  return driverError(error).errno === 1146;
}

/** Reports whether the user may not run the statement (1142, 1227). MySQL only. */
export function isNotPermitted(error: unknown): boolean {
  const { errno } = driverError(error);
  return errno === 1142 || errno === 1227;
}

/** Reports whether a conflict rolled the transaction back: deadlock (1213), changed snapshot (1020), lock wait (1205), busy file. */
export function isRetryable(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 1213 || errno === 1020 || errno === 1205 || (typeof code === 'string' && code.startsWith('SQLITE_BUSY'));
}

/** Reports whether a CHECK constraint was violated (MariaDB 4025, MySQL 3819): a bug. */
export function isCheckViolation(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 4025 || errno === 3819 || code === 'SQLITE_CONSTRAINT_CHECK';
}

// From the server: too many connections (1040), shutting down (1053), a statement or a connection ended by a shutdown (1317, 1927). From
// Galera: not in the cluster (1047), the commit failed (1180).
const lostErrnos: ReadonlySet<number | undefined> = new Set([1040, 1053, 1317, 1927, 1047, 1180]);
const lostCodes: ReadonlySet<string | undefined> = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  // A name or a network that exists only while its machine runs, as in a compose network.
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Reports whether the database cannot be reached; whether the last statement took effect is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code, errno, fatal } = driverError(error);
  return fatal === true || lostErrnos.has(errno) || lostCodes.has(code);
}

/** Reports whether there was no connection, so nothing was done. Such an error is not retried, because connecting has already waited. */
export function isUnreachable(error: unknown): boolean {
  const { syscall } = driverError(error);
  return syscall === 'connect' || syscall === 'getaddrinfo' || isPoolExhausted(error);
}

/** Reports whether the server refused the login (1045, 1698) or the database (1044, 1049), so that a retry would fail too. */
export function isLoginRefused(error: unknown): boolean {
  return [1044, 1045, 1049, 1698].includes(driverError(error).errno ?? 0);
}

// Knex's name for this error (knex 3.3, lib/util/timeout.js).
const poolExhausted = 'KnexTimeoutError';

/** Reports whether no connection of the pool became free in time, because the server hangs or all of them are in use; nothing was done. */
export function isPoolExhausted(error: unknown): boolean {
  return error instanceof Error && error.name === poolExhausted;
}

/** Returns the error without Knex's message, which advises the author of a query and not the operator. Any other error is returned unchanged. */
export function withoutKnexAdvice(error: unknown): unknown {
  if (!isPoolExhausted(error)) return error;
  return Object.assign(new Error('the database did not respond in time, or all connections to it are in use'), { name: poolExhausted });
}

// From the server: disk full (1021), write error (1026), table full (1114), read-only (1290, 1836).
const unwritableErrnos: ReadonlySet<number | undefined> = new Set([1021, 1026, 1114, 1290, 1836]);

/** Reports whether the database cannot write: its disk is full or fails, or it is read-only. The transaction is rolled back. */
export function isUnwritable(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return unwritableErrnos.has(errno) || (typeof code === 'string' && /^SQLITE_(FULL|IOERR|READONLY)/.test(code));
}

/** Reports whether the database is unavailable, overloaded or unable to write, which no single row can cause. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isConnectionLost(error) || isPoolExhausted(error) || isUnwritable(error);
}

/** Reports whether a SQLite file is damaged, or is not a database. */
export function isDamagedFile(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(driverError(error).code ?? '');
}

/** Reports whether a SQLite file cannot be opened, or only be read. */
export function isInaccessibleFile(error: unknown): boolean {
  return /^SQLITE_(CANTOPEN|READONLY|PERM)/.test(driverError(error).code ?? '');
}
