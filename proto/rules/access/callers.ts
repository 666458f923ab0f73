// The callers that are part of every installation, and what each may do. All other callers are data, stored by auth.
import { accessTable } from '#proto/access.js';

type Grant = Exclude<(typeof accessTable)[keyof typeof accessTable]['grant'], ''>;

/** What each grant allows, for those that operators give. */
export const grantMeanings: Readonly<Record<Grant, string>> = {
  'alerts.send': 'send the alerts of accounts, as metering does',
  'audit.append': 'append events to the audit log, as services do',
  'auth.accounts': 'read, create, rename, limit, suspend and resume accounts',
  'auth.audit': 'read and verify the audit log',
  'auth.authenticate': 'look platform keys up by the hash of their secret, and watch their changes',
  'auth.callers': 'manage callers and their grants: with it a caller can get every other grant',
  'auth.directory': 'watch the callers, as services do',
  'auth.keys': 'read, create and change projects and platform keys, and rotate and revoke keys',
  'auth.prompts': 'read for how long projects log prompts and answers, as metering does',
  'auth.sessions': 'sign users in and manage their sessions, as the gateway does',
  'auth.states': 'read whether accounts are suspended, as the ledger does',
  'auth.users': 'manage users, members, invitations and management keys',
  'auth.webhooks': 'manage the webhook endpoints of accounts, and send requests to them again',
  'catalog.publish': 'publish a price without a draft',
  'catalog.read': 'read models and prices, and watch their changes',
  'catalog.write': 'change models, and draft and publish prices',
  'inference.generate': 'generate text, and count tokens',
  'inference.read': 'read upstreams, without their secrets',
  'inference.write': 'create, change, test and delete upstreams',
  'installation.manage': 'record backups, and resume emails and webhooks after a restore',
  'ledger.alerts': 'change and test balance alerts',
  'ledger.deposit': 'deposit and adjust money, and manage redemption codes',
  'ledger.hold': 'hold money for a call, extend the hold and release it',
  'ledger.pay': 'book payments that a payment provider has signed',
  'ledger.read': 'read balances, holds, entries and statements',
  'ledger.redeem': 'redeem codes for an account',
  'ledger.refund': 'refund charges',
  'ledger.settle': 'charge held money without a usage record, as metering does',
  'metering.prompts': 'read and delete logged prompts and answers, for users who have a role in their projects',
  'metering.read': 'read usage records and totals, and estimate charges',
  'metering.record': 'record usage, which is then charged',
  'metering.refund': 'refund the charge of a whole answer that its client did not receive, as the gateway does',
  'metering.settle': 'read and repair the settlement of charges, and compare the books',
  'notifications.append': 'send emails and events in the name of accounts, as the ledger does',
  'notifications.read': 'read the notifications and webhook endpoints of accounts',
  'process.read': 'read the state of the processes',
};

/** Every grant, in order. */
export const grants: readonly string[] = Object.keys(grantMeanings);

/** The grants that each process needs, and no others. The operator may call everything. */
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
      'auth.webhooks',
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
      'ledger.refund',
      'metering.prompts',
      'metering.read',
      'metering.record',
      'metering.refund',
      'metering.settle',
      'notifications.read',
      'process.read',
    ],
    // Its calls need the token of a signed-in user who has the required role.
    forUsers: true,
  },
  metering: {
    grants: [
      'alerts.send',
      'audit.append',
      'auth.directory',
      'auth.prompts',
      'catalog.read',
      'ledger.hold',
      'ledger.read',
      'ledger.refund',
      'ledger.settle',
    ],
    forUsers: false,
  },
  ledger: { grants: ['audit.append', 'auth.directory', 'auth.states', 'notifications.append', 'process.read'], forUsers: false },
  catalog: { grants: ['audit.append', 'auth.directory'], forUsers: false },
  inference: { grants: ['audit.append', 'auth.directory'], forUsers: false },
  auth: { grants: ['auth.directory'], forUsers: false },
} as const;
