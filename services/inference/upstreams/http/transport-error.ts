// What a failure below HTTP means. Pure.
import { AppError } from '#client/errors/app-error.js';
import { AddressRefused } from '#kit/net/address-guard.js';

const unreachableCodes =
  /^(E(NOTFOUND|AI_AGAIN|CONNREFUSED|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL|ACCES)|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The error for what undici threw. Names no address: where upstreams are is no caller's business. */
export function transportError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const cause = rootOf(error);
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return new AppError('upstream_timeout', 'The upstream could not be reached in time.', { cause: error });
  }
  if (cause instanceof AddressRefused || unreachableCodes.test(code)) {
    return new AppError('upstream_unavailable', 'The upstream could not be reached.', { cause: error });
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new AppError('upstream_failed', 'The upstream sent a header beyond the size limit.', { cause: error });
  }
  return new AppError('upstream_failed', 'The connection to the upstream broke.', { cause: error });
}

/** When several addresses of a name were tried, the first failure speaks for all. */
function rootOf(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
}
