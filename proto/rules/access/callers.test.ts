// The RPCs of each other that the processes of an installation may call, according to the contracts and the built-in grants.
import { describe, expect, it } from '@jest/globals';
import { accessTable } from '#proto/access.js';
import { builtInCallers, grants } from './callers.js';

const rpcsOf = (caller: keyof typeof builtInCallers): string[] => {
  const held: 'all' | readonly string[] = builtInCallers[caller].grants;
  return Object.entries(accessTable)
    .filter(([, { grant }]) => held === 'all' || grant === '' || held.includes(grant))
    .map(([rpc]) => rpc.split('.').at(-1)!);
};

describe('the built-in callers', () => {
  it('hold only grants that some RPC requires', () => {
    for (const { grants: held } of Object.values(builtInCallers))
      for (const grant of held === 'all' ? [] : held) expect(grants).toContain(grant);
  });

  it('let only metering charge, and only an operator publish a price without a draft or end holds', () => {
    for (const rpc of ['LedgerService/Settle', 'LedgerService/ExpireHolds']) expect(rpcsOf('gateway')).not.toContain(rpc);
    expect(rpcsOf('metering')).toContain('LedgerService/Settle');
    expect(rpcsOf('gateway')).not.toContain('CatalogService/PublishPrice');
    expect(rpcsOf('operator')).toContain('CatalogService/PublishPrice');
  });

  it('give the other services only the audit log and the callers, and the ledger also the notifier and the states of accounts', () => {
    // The streams admit every caller, and none of its operations.
    const streams = ['LedgerService/Batch', 'MeteringService/Batch'];
    const every = ['CallerService/WatchCallers', 'CallerService/ReportCallersSeen', 'UserService/AppendAuditEvents'];
    for (const caller of ['catalog', 'inference'] as const) expect(rpcsOf(caller).filter((rpc) => !streams.includes(rpc))).toEqual(every);
    const ofLedger = rpcsOf('ledger').filter((rpc) => ![...streams, ...every].includes(rpc) && !rpc.endsWith('/GetHealth'));
    expect(ofLedger).toEqual([
      'AuthService/GetAccountState',
      'NotificationService/AppendNotifications',
      'NotificationService/GetDeliveryStatus',
    ]);
  });
});
