// The dependencies of the RPCs about callers.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { SigningKeys } from '../actors/signing-keys.js';
import type { ChangeFeed } from '../change-feed.js';
import type { AccountStore } from '../store/accounts.js';
import type { CallerStore } from './caller-store.js';

/** Holds the dependencies that every RPC receives. */
export interface CallerDeps {
  readonly callers: CallerStore;
  readonly signingKeys: Pick<SigningKeys, 'published'>;
  readonly accounts: AccountStore;
  readonly audit: AuditLog;
  readonly feed: ChangeFeed;
  /** Maximum time without a message on a watch stream; each message names it. */
  readonly heartbeatIntervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}
