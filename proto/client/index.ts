// The client package for internal callers. Messages are in the subpaths: @tollgate/client/ledger, /metering, /auth …
export { AppError as TollgateError, hasReason } from './errors/app-error.js';
export { type Reason, isReason } from '#rules/errors/reasons.js';
export { type CallOptions, type ConnectOptions, callOptions, connect, type Processes, type Tollgate } from './connect.js';
export { readTls, type Tls, type TlsPaths } from './tls.js';
export { TlsFiles, type TlsLog, type WatchTlsOptions } from './tls-files.js';
