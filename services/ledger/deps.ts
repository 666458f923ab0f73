// The dependencies of the ledger's RPCs.
import type { AuditOutbox } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { Access } from '#kit/rpc/access/access.js';
import type { BooksCheck } from '#proto/ledger/v1/ledger.js';
import type { LedgerConfig } from './config.js';
import type { OperationLane } from './lane/operation-lane.js';
import type { UnwrittenHolds } from './lane/unwritten-holds.js';
import type { Audit } from './store/audit.js';
import type { Codes } from './store/codes.js';
import type { Months } from './store/months.js';
import type { Pages } from './store/pages.js';
import type { Reads } from './store/reads.js';

/** Holds the dependencies that every RPC receives. */
export interface RpcDeps {
  readonly lane: OperationLane;
  /** Grants holds before they are written; undefined where each is written immediately. */
  readonly unwritten: UnwrittenHolds | undefined;
  /** Writes the holds that are granted and not written yet. */
  readonly writeHolds: () => Promise<void>;
  readonly reads: Reads;
  readonly audit: Audit;
  readonly pages: Pages;
  readonly months: Months;
  readonly codes: Codes;
  readonly auditLog: AuditOutbox;
  /** Result of the last comparison of all books; set by Verify. */
  readonly lastCheck: { books: BooksCheck | undefined };
  /** The policy for operations on the batch stream. */
  readonly access: Access;
  readonly config: LedgerConfig;
  readonly clock: Clock;
  readonly log: Logger;
}
