// What a driver's error means, whichever driver it was.

interface DriverError {
  code?: string;
  errno?: number;
  /** Set by mysql2: the connection is of no more use. */
  fatal?: boolean;
  /** Set by Node: what the system was asked for. */
  syscall?: string;
}

function driverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? (error as DriverError) : {};
}

/** A row with this primary or unique key exists. */
export function isDuplicate(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 1062 || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_UNIQUE';
}

/** MySQL: the table (1050), the column (1060) or the index (1061) that a statement makes exists. */
export function isAlreadyThere(error: unknown): boolean {
  const { errno } = driverError(error);
  return errno === 1050 || errno === 1060 || errno === 1061;
}

/** The transaction was rolled back for no fault of its own: deadlock (1213), changed snapshot (1020), lock wait (1205), busy file. */
export function isRetryable(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 1213 || errno === 1020 || errno === 1205 || (typeof code === 'string' && code.startsWith('SQLITE_BUSY'));
}

/** A CHECK constraint was broken (MariaDB 4025, MySQL 3819): a fault of ours. */
export function isCheckViolation(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 4025 || errno === 3819 || code === 'SQLITE_CONSTRAINT_CHECK';
}

// Of the server: no connection to spare (1040), shutting down (1053), a statement or a connection ended by that (1317, 1927), and
// of Galera: not in the cluster (1047), the commit failed (1180).
const lostErrnos: ReadonlySet<number | undefined> = new Set([1040, 1053, 1317, 1927, 1047, 1180]);
const lostCodes: ReadonlySet<string | undefined> = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  // A name or a network that comes and goes with the machine behind it, as in a compose network.
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** The database cannot be reached; whether the last statement took effect is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code, errno, fatal } = driverError(error);
  return fatal === true || lostErrnos.has(errno) || lostCodes.has(code);
}

/** No connection could be made, so nothing was done; who makes one has waited for it already. */
export function isUnreachable(error: unknown): boolean {
  const { syscall } = driverError(error);
  return syscall === 'connect' || syscall === 'getaddrinfo';
}

/** No connection of the pool became free in time; nothing was done. */
export function isPoolExhausted(error: unknown): boolean {
  // Knex names the error so (knex 3.3, lib/util/timeout.js).
  return error instanceof Error && error.name === 'KnexTimeoutError';
}

// Of the server: no space (1021), an error at a write (1026), no room for a table's file to grow (1114), set to read only (1290, 1836).
const unwritableErrnos: ReadonlySet<number | undefined> = new Set([1021, 1026, 1114, 1290, 1836]);

/** The database cannot write: its disk is full or fails, or it is set to read only. What the statement's transaction did is undone. */
export function isUnwritable(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return unwritableErrnos.has(errno) || (typeof code === 'string' && /^SQLITE_(FULL|IOERR|READONLY)/.test(code));
}

/** The database is away, too busy or unable to write, for which no single row can be at fault. */
export function isDatabaseAway(error: unknown): boolean {
  return isConnectionLost(error) || isPoolExhausted(error) || isUnwritable(error);
}
