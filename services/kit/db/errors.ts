// What a driver's error means, whichever driver it was.

interface DriverError {
  code?: string;
  errno?: number;
}

function driverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? (error as DriverError) : {};
}

/** A row with this primary or unique key exists. */
export function isDuplicate(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return errno === 1062 || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_UNIQUE';
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

/** The database cannot be reached; whether the last statement took effect is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code, errno } = driverError(error);
  return (
    errno === 1047 || errno === 1180 ||
    ['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'PROTOCOL_SEQUENCE_TIMEOUT', 'ENOENT'].includes(code ?? '')
  );
}
