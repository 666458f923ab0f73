// Maps failures below HTTP to errors. Pure.
import { AppError } from '#client/errors/app-error.js';
import { AddressRefused } from '#kit/net/address-guard.js';

const unreachableCodes =
  /^(E(NOTFOUND|AI_AGAIN|CONNREFUSED|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL|ACCES)|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

const connectTimeoutCode = 'UND_ERR_CONNECT_TIMEOUT';

/** Returns the error for what undici threw. It names no address, because callers must not learn where upstreams are. */
export function transportError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const cause = rootOf(error);
  const code = codeOf(cause);
  if (code === connectTimeoutCode || code === 'ETIMEDOUT') {
    return new AppError('upstream_timeout', 'The upstream could not be reached in time.', { cause: error });
  }
  if (isUnreachable(cause)) {
    return new AppError('upstream_unavailable', 'The upstream could not be reached.', { cause: error });
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new AppError('upstream_failed', 'The upstream sent a header beyond the size limit.', { cause: error });
  }
  return new AppError('upstream_failed', 'The connection to the upstream broke.', { cause: error });
}

/** Reports whether an attempt ended with this error because no connection to the upstream could be made. */
export function isUnconnected(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const cause = rootOf(error.cause);
  return isUnreachable(cause) || codeOf(cause) === connectTimeoutCode;
}

function isUnreachable(cause: unknown): boolean {
  return cause instanceof AddressRefused || unreachableCodes.test(codeOf(cause));
}

function codeOf(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
}

/** Returns the root error. When several addresses of a name were tried, that is the first failure. */
function rootOf(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
}
