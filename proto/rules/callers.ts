// The callers that are part of every installation, and what each may do. All other callers are data, kept by auth.
import { accessTable } from '#proto/access.js';

/** Every grant that an RPC requires, in order. */
export const grants: readonly string[] = [...new Set(Object.values(accessTable).map(({ grant }) => grant as string))]
  .filter((grant) => grant !== '')
  .sort();

/** What each process calls, and nothing else. The operator may call everything. */
export const builtInCallers = {
  operator: { grants: 'all', forUsers: false },
  gateway: {
    grants: [
      'auth.accounts',
      'auth.audit',
      'auth.authenticate',
      'auth.callers',
      'auth.keys',
      'auth.sessions',
      'auth.users',
      'catalog.read',
      'catalog.write',
      'inference.generate',
      'inference.read',
      'inference.write',
      'ledger.alerts',
      'ledger.deposit',
      'ledger.hold',
      'ledger.pay',
      'ledger.read',
      'ledger.redeem',
      'metering.read',
      'metering.record',
      'metering.settle',
      'process.read',
    ],
    // With the token of a signed-in user who has the required role, and not without.
    forUsers: true,
  },
  metering: { grants: ['audit.append', 'auth.directory', 'catalog.read', 'ledger.hold', 'ledger.read', 'ledger.settle'], forUsers: false },
  ledger: { grants: ['audit.append', 'auth.directory'], forUsers: false },
  catalog: { grants: ['audit.append', 'auth.directory'], forUsers: false },
  inference: { grants: ['audit.append', 'auth.directory'], forUsers: false },
  auth: { grants: ['auth.directory'], forUsers: false },
} as const;
