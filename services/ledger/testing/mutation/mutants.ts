// The guards of the ledger, each broken in one way. The text must occur exactly once in its file: when you move a guard, move its mutant too.
import type { CheckName } from './checks.js';

/** Holds one guard, broken. */
export interface Mutant {
  readonly name: string;
  /** Within services/ledger. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The check that must fail. */
  readonly seenBy: CheckName;
}

type Break = readonly [name: string, from: string, to: string];

function of(file: string, seenBy: CheckName, breaks: readonly Break[]): Mutant[] {
  return breaks.map(([name, from, to]) => ({ name, file, from, to, seenBy }));
}

/** All mutants. */
export const mutants: readonly Mutant[] = [
  ...of('operations/hold.ts', 'model', [
    [
      'a hold needs no free money',
      'if (availableNanoUsd < neededNanoUsd) return refused(balanceHeld',
      'if (availableNanoUsd < 0n) return refused(balanceHeld',
    ],
    [
      'a hold needs one less than its minimum',
      'if (availableNanoUsd < neededNanoUsd) return refused(balanceHeld',
      'if (availableNanoUsd + 1n < neededNanoUsd) return refused(balanceHeld',
    ],
    ['a hold needs nothing of the limit', 'keyLeftNanoUsd < neededNanoUsd) {', 'keyLeftNanoUsd < 0n) {'],
    [
      'held money is reported as spent',
      'if (availableNanoUsd + account.heldNanoUsd < neededNanoUsd)',
      'if (availableNanoUsd < neededNanoUsd)',
    ],
    [
      'a hold gets all that it requests',
      'least(operation.amountNanoUsd, freeInAllNanoUsd(account, key, budgets))',
      'operation.amountNanoUsd',
    ],
    ['a hold sets nothing aside in the key', 'key: { ...key, heldNanoUsd: key.heldNanoUsd + amountNanoUsd },', 'key,'],
    ['a hold sets nothing aside in the account', 'account: { ...account, heldNanoUsd: account.heldNanoUsd + amountNanoUsd },', 'account,'],
    ['a repeated hold is done again', 'if (touched.hold !== undefined) return repeat(touched.hold, touched.budgets, operation);', ''],
    ['another hold under a used id is accepted', 'if (hold.fingerprint !== operation.fingerprint) return refused(mismatch(hold.id));', ''],
    ['a released hold is used again', 'if (hold.state === HoldState.HOLD_STATE_RELEASED) return refused(holdClosed(hold.id));', ''],
    ['a tombstone is taken for another hold', 'if (hold.fingerprint === undefined) return refused(holdClosed(hold.id));', ''],
    ['a hold needs nothing of a budget', 'limitAvailableNanoUsd(bucket)! >= neededNanoUsd) continue;', 'bucket !== undefined) continue;'],
    [
      'a budget that is held is reported as spent',
      'if (limitNanoUsd - bucket.spentNanoUsd < neededNanoUsd) return',
      'if (bucket !== held?.bucket) return',
    ],
    ['the last of several budgets is named', 'held ??= { bucket, limitNanoUsd, index };', 'held = { bucket, limitNanoUsd, index };'],
    ['a hold sets nothing aside in its budgets', 'budgets.map((bucket) => moved(bucket, { heldNanoUsd: amountNanoUsd })),', 'budgets,'],
    [
      'a hold forgets its budgets',
      'budgets: budgets.length === 0 ? noBudgets : budgets.map(({ scopeId }) => scopeId),',
      'budgets: noBudgets,',
    ],
    ['a refusal forgets a newer budget', '...budgetChanges(changed, nowMs) };', '};'],
    ['an older limit counts', 'if (operation.limitVersion <= key.limitVersion) return key;', ''],
    ['another limit of the same version counts', 'operation.limitVersion <= key.limitVersion', 'operation.limitVersion < key.limitVersion'],
    ['a refusal forgets the newer limit', '...(key === undefined ? {} : { key })', '...{}'],
  ]),
  ...of('statements/months.ts', 'model', [
    ['deposits are not summed', 'depositedNanoUsd: wrapped(depositedNanoUsd + depositedBy(entry)),', 'depositedNanoUsd,'],
    [
      'payment refunds are not subtracted',
      'EntryKind.ENTRY_KIND_PAYMENT_REFUND ? -amountNanoUsd : 0n',
      'EntryKind.ENTRY_KIND_PAYMENT_REFUND ? 0n : 0n',
    ],
    ['reversals of payment refunds are not summed', ' || kind === EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL', ''],
    ['refunds are not summed', 'refundedNanoUsd: wrapped(refundedNanoUsd + refundedBy(entry)),', 'refundedNanoUsd,'],
    [
      'reversals of refunds are not summed',
      'EntryKind.ENTRY_KIND_REFUND_REVERSAL ? -amountNanoUsd : 0n',
      'EntryKind.ENTRY_KIND_REFUND_REVERSAL ? 0n : 0n',
    ],
  ]),
  ...of('operations/checkpoint.ts', 'model', [
    ['a checkpoint moves back', 'costNanoUsd > hold.checkpointNanoUsd ? costNanoUsd : hold.checkpointNanoUsd', 'costNanoUsd'],
    ['a checkpoint exceeds its hold', 'least(operation.costSoFarNanoUsd, hold.amountNanoUsd)', 'operation.costSoFarNanoUsd'],
    ['a checkpoint shortens the life of its hold', 'Math.max(hold.expiresAtMs, nowMs + operation.ttlMs)', 'nowMs + operation.ttlMs'],
    ['a checkpoint does not renew', 'Math.max(hold.expiresAtMs, nowMs + operation.ttlMs)', 'hold.expiresAtMs'],
    ['an ended hold is renewed', 'if (hold?.state !== HoldState.HOLD_STATE_OPEN) return', 'if (hold === undefined) return'],
  ]),
  ...of('operations/release.ts', 'model', [
    ['a renewed hold expires', ' || hold.expiresAtMs > operation.expiredAtMs', ''],
    ['a hold expires an instant late', 'hold.expiresAtMs > operation.expiredAtMs', 'hold.expiresAtMs >= operation.expiredAtMs'],
    ['an ended hold is released', 'if (hold.state !== HoldState.HOLD_STATE_OPEN) return done({ hold });', ''],
    [
      'a release before its hold is forgotten',
      'return done({ hold: undefined }, { hold: unknownHold(operation, HoldState.HOLD_STATE_RELEASED, nowMs) });',
      'return done({ hold: undefined });',
    ],
    ['the last checkpoint is not charged', 'captureNanoUsd: hold.checkpointNanoUsd', 'captureNanoUsd: 0n'],
    ['a whole hold is charged at its end', 'captureNanoUsd: hold.checkpointNanoUsd', 'captureNanoUsd: hold.amountNanoUsd'],
  ]),
  ...of('operations/settle.ts', 'model', [
    [
      'a hold is settled twice',
      'case HoldState.HOLD_STATE_EXPIRED:',
      'case HoldState.HOLD_STATE_EXPIRED: case HoldState.HOLD_STATE_SETTLED:',
    ],
    ['another cost is accepted', 'return hold.capturedNanoUsd + hold.shortfallNanoUsd === operation.costNanoUsd', 'return true'],
    [
      'a repeat forgets the shortfall',
      'hold.capturedNanoUsd + hold.shortfallNanoUsd === operation.costNanoUsd',
      'hold.capturedNanoUsd === operation.costNanoUsd',
    ],
    ['a late settle charges again', 'const dueNanoUsd = costNanoUsd - hold.capturedNanoUsd;', 'const dueNanoUsd = costNanoUsd;'],
    [
      'a late settle keeps the excess that expiry captured',
      'if (dueNanoUsd < 0n) {',
      'if (dueNanoUsd < 0n) return done({ hold, replayed: false });\n  if (dueNanoUsd < 0n) {',
    ],
    [
      'a shortfall is one too low',
      'shortfallNanoUsd: dueNanoUsd - captureNanoUsd }',
      'shortfallNanoUsd: dueNanoUsd > captureNanoUsd ? dueNanoUsd - captureNanoUsd - 1n : 0n }',
    ],
    ['a shortfall is forgiven', 'shortfallNanoUsd: dueNanoUsd - captureNanoUsd }', 'shortfallNanoUsd: 0n }'],
    [
      'an excess takes what is not free',
      'least(dueNanoUsd - fromHoldNanoUsd, freeInAllNanoUsd(account, key, bucketsOfHold(hold, touched.budgets)))',
      'dueNanoUsd - fromHoldNanoUsd',
    ],
    ['an excess is not taken', 'const captureNanoUsd = fromHoldNanoUsd + fromFreeNanoUsd;', 'const captureNanoUsd = fromHoldNanoUsd;'],
    [
      'an excess takes what is not free in a budget',
      'freeInAllNanoUsd(account, key, bucketsOfHold(hold, touched.budgets))',
      'freeInAllNanoUsd(account, key, [])',
    ],
    ['the cost of a released call is accepted', 'return operation.costNanoUsd === 0n &&', 'return operation.costNanoUsd >= 0n &&'],
    ['a free call pays for its release', ' && hold.capturedNanoUsd === 0n', ''],
    ['the key of another hold is accepted', ' && hold.keyId !== operation.keyId) {', ' && hold.keyId === undefined) {'],
  ]),
  ...of('operations/close-hold.ts', 'model', [
    ['the key is not released', 'heldNanoUsd: key.heldNanoUsd + freed.heldNanoUsd', 'heldNanoUsd: key.heldNanoUsd'],
    ['the account is not released', 'heldNanoUsd: before.heldNanoUsd - reservedNanoUsd(hold)', 'heldNanoUsd: before.heldNanoUsd'],
    ['an ended hold frees money again', 'hold.state === HoldState.HOLD_STATE_OPEN ? hold.amountNanoUsd : 0n', 'hold.amountNanoUsd'],
    ['the spend of the key is forgotten', 'spentNanoUsd: key.spentNanoUsd + freed.spentNanoUsd', 'spentNanoUsd: key.spentNanoUsd'],
    [
      'the excess that expiry captured stays spent by the key and the budgets',
      'spentNanoUsd: captureNanoUsd - correctionNanoUsd',
      'spentNanoUsd: captureNanoUsd',
    ],
    [
      'a call is not charged to its budgets',
      'bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, freed)),',
      'bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, { heldNanoUsd: freed.heldNanoUsd })),',
    ],
    [
      'the budgets are not released',
      'bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, freed)),',
      'bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, { spentNanoUsd: freed.spentNanoUsd })),',
    ],
    [
      'a correction is linked to no charge',
      'linkedEntryId: entryId(hold.accountId, hold.lastSeq)',
      'linkedEntryId: entryId(hold.accountId, 0n)',
    ],
    ['a hold forgets its last entry', 'lastSeq: entries.at(-1)?.seq ?? hold.lastSeq', 'lastSeq: hold.lastSeq'],
    [
      'a hold forgets an earlier capture',
      'capturedNanoUsd: hold.capturedNanoUsd + captureNanoUsd - correctionNanoUsd',
      'capturedNanoUsd: captureNanoUsd',
    ],
  ]),
  ...of('operations/credit.ts', 'model', [
    [
      'a credit is done again',
      'if (touched.record === undefined) return undefined;',
      'if (touched.record === undefined || touched.record !== undefined) return undefined;',
    ],
    ['another credit under a used key is accepted', 'if (fingerprint !== operation.fingerprint)', 'if (fingerprint === undefined)'],
    [
      'a correction takes what calls in flight hold',
      'accountAvailableNanoUsd(account) < -amountNanoUsd',
      'account.creditedNanoUsd - account.spentNanoUsd < -amountNanoUsd',
    ],
    ['a correction is linked to anything', 'seqOfEntry(account, linkedEntryId) === undefined', 'linkedEntryId === undefined'],
    [
      'an adjustment exceeds what is left of its entry',
      'takenNanoUsd > leftNanoUsd ?',
      'takenNanoUsd < 0n && takenNanoUsd > leftNanoUsd ?',
    ],
    [
      'anything is returned to a payer',
      'isPaymentRefund && !isPayment(touched.linked)',
      'isPaymentRefund && isPaymentRefund === undefined',
    ],
    ['credits overflow a column', 'account.creditedNanoUsd + amountNanoUsd <= creditedNanoUsdMax', 'amountNanoUsd <= creditedNanoUsdMax'],
  ]),
  ...of('operations/refund.ts', 'model', [
    ['more is refunded than is left', ' || amountNanoUsd > leftNanoUsd)', ')'],
    ['a refunded amount is refunded again', 'return capturedNanoUsd - refundedNanoUsd;', 'return capturedNanoUsd;'],
    ['a charge that is not final is refunded', 'if (!isFinal(hold)) return refused(notFinal(hold));', ''],
    ['a refund is done again', 'if (repeated !== undefined) return repeated;', ''],
    ['a refund does not free the limit of the key', 'spentNanoUsd: key.spentNanoUsd - amountNanoUsd', 'spentNanoUsd: key.spentNanoUsd'],
    [
      'a refund does not lower the spend of the budgets',
      'bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, { spentNanoUsd: -amountNanoUsd })),',
      'bucketsOfHold(hold, touched.budgets),',
    ],
    ['a hold forgets its refunds', 'refundedNanoUsd: hold.refundedNanoUsd + amountNanoUsd', 'refundedNanoUsd: hold.refundedNanoUsd'],
  ]),
  ...of('operations/reverse.ts', 'model', [
    [
      'a reversal is done again',
      'if (repeated !== undefined) return repeated;\n  const { entry } = operation;',
      'const { entry } = operation;',
    ],
    ['the reversal of a payment refund is an adjustment', 'isOfPaymentRefund(entry.kind)', 'false'],
    ['a reversal is not limited by its entry', '{ ...touched, linked: entry }', '{ ...touched, linked: undefined }'],
    [
      'what is left of a refund is exceeded',
      ' || amountNanoUsd > leftNanoUsd) return refused(notLeftOfEntry(refund',
      ') return refused(notLeftOfEntry(refund',
    ],
    ['a reversal has the direction of its entry', 'isCredit ? -amountNanoUsd : amountNanoUsd', 'isCredit ? amountNanoUsd : -amountNanoUsd'],
    [
      'the reversal of a refund takes what calls hold',
      'accountAvailableNanoUsd(before) < amountNanoUsd',
      'before.creditedNanoUsd - before.spentNanoUsd < amountNanoUsd',
    ],
    [
      'the reversal of a refund does not charge the key',
      'spentNanoUsd: key.spentNanoUsd + amountNanoUsd',
      'spentNanoUsd: key.spentNanoUsd',
    ],
    [
      'the reversal of a refund does not charge the budgets',
      'bucketsOfHold(hold, touched.budgets).map((bucket) => moved(bucket, { spentNanoUsd: amountNanoUsd })),',
      'bucketsOfHold(hold, touched.budgets),',
    ],
    [
      'a hold keeps a refund that was reversed',
      'refundedNanoUsd: hold.refundedNanoUsd - amountNanoUsd',
      'refundedNanoUsd: hold.refundedNanoUsd',
    ],
  ]),
  ...of('books/corrections.ts', 'model', [
    ['corrections of corrections do not count', 'seqs.add(entry.seq);', ''],
    ['corrections do not count', 'effectNanoUsd += balanceEffectNanoUsd(entry);', ''],
    ['a correction enlarges an entry', 'least(leftNanoUsd, entry.amountNanoUsd)', 'leftNanoUsd'],
  ]),
  ...of('books/buckets.ts', 'model', [
    [
      'held money is free',
      'account.creditedNanoUsd - account.spentNanoUsd - account.heldNanoUsd',
      'account.creditedNanoUsd - account.spentNanoUsd',
    ],
    ['what a key holds is free', 'limitNanoUsd - spentNanoUsd - heldNanoUsd', 'limitNanoUsd - spentNanoUsd'],
    ['what a key spent is free', 'limitNanoUsd - spentNanoUsd - heldNanoUsd', 'limitNanoUsd - heldNanoUsd'],
    ['a lowered limit leaves less than nothing', 'return availableNanoUsd > 0n ? availableNanoUsd : 0n;', 'return availableNanoUsd;'],
    ['the limit of the key does not count', 'freeNanoUsd = least(freeNanoUsd, limitAvailableNanoUsd(key) ?? freeNanoUsd);', ''],
    [
      'the money of the account does not count',
      'let freeNanoUsd = accountAvailableNanoUsd(account);',
      'let freeNanoUsd = creditedNanoUsdMax;',
    ],
  ]),
  ...of('books/buckets.ts', 'model', [
    [
      'the limit of a budget does not count',
      'for (const budget of budgets) freeNanoUsd = least(freeNanoUsd, limitAvailableNanoUsd(budget) ?? freeNanoUsd);',
      '',
    ],
  ]),
  ...of('budgets/buckets.ts', 'model', [
    [
      'an older budget counts',
      'if (known !== undefined && budget.version <= known.limitVersion) return inZone(known, budget.timeZone);',
      'if (known !== undefined && budget.version < 0n) return known;',
    ],
    ['another budget of the same version counts', 'budget.version <= known.limitVersion', 'budget.version < known.limitVersion'],
    ['a soft budget refuses', 'budget.isSoft ? undefined : budget.limitNanoUsd', 'budget.limitNanoUsd'],
    ['a hard budget is soft', 'budget.isSoft ? undefined : budget.limitNanoUsd', 'undefined'],
    [
      'a call counts in all budgets of its account',
      'hold.budgets.length === 0 ? noBudgets : known.filter(({ scopeId }) => hold.budgets.includes(scopeId))',
      'known.slice(0, -1)',
    ],
    ['an alert is due again', '{ ...budget, alertedPercent: percent }', '{ ...budget }'],
    ['an alert is due one too late', 'spentNanoUsd >= alertAtNanoUsd', 'spentNanoUsd > alertAtNanoUsd'],
  ]),
  ...of('budgets/calendar.ts', 'model', [
    ['the week begins on Sunday', '(day + 3) % 7', '(day + 4) % 7'],
    ['a month begins on its second day', 'date - (date % 100) + 1', 'date - (date % 100) + 2'],
    ['the time zone does not count', "{ ...gregorian, timeZone: timeZone || 'UTC' }", "{ ...gregorian, timeZone: 'UTC' }"],
    ['a period never turns', 'if (zone.minute !== minute) {', 'if (Number.isNaN(zone.minute)) {'],
  ]),
  ...of('budgets/path.ts', 'model', [
    ['budgets refuse in the order of the request', 'path.sort(inOrder)', 'path'],
    ['the periods of a budget share a bucket', '`${budgetId} ${period} ${start}`', '`${budgetId} ${period}`'],
  ]),
  ...of('books/journal.ts', 'model', [
    ['entries share a number', 'seq: account.seq + 1n,', 'seq: account.seq,'],
    [
      'a promotion is booked as cash',
      'source === DepositSource.DEPOSIT_SOURCE_PROMOTION ? postings.promotion : postings.cashDeposit',
      'postings.cashDeposit',
    ],
    [
      'a promotion is returned to a payer',
      'EntryKind.ENTRY_KIND_DEPOSIT && entry.debit === BookAccount.BOOK_ACCOUNT_CASH',
      'EntryKind.ENTRY_KIND_DEPOSIT',
    ],
    [
      'a payment refund is an adjustment',
      'if (isOfPayment) return amountNanoUsd > 0n ? postings.paymentRefundReversal : postings.paymentRefund;',
      '',
    ],
    ['a shortfall is charged', 'debit: BookAccount.BOOK_ACCOUNT_SHORTFALL_EXPENSE', 'debit: customer'],
    ['an entry of another account is linked to', ' && id.slice(4, 20) === accountId.slice(-16)', ''],
    ['an entry that is still to come is linked to', 'seq >= 1n && seq <= account.seq ? seq : undefined', 'seq >= 1n ? seq : undefined'],
  ]),
  ...of('lane/working-set.ts', 'model', [
    ['a key does not see the previous operation', 'if (key !== undefined) this.keys.put(key.keyId, key);', ''],
    ['a repeat in one transaction is not seen', 'if (record !== undefined) this.operations.put(record.idempotencyKey, record);', ''],
    [
      'a hold belongs to whichever key is named',
      "const keyId = hold?.keyId ?? ('keyId' in operation ? operation.keyId : undefined);",
      "const keyId = 'keyId' in operation ? operation.keyId : undefined;",
    ],
    ['a new row is taken for a stored one', 'isStored: false, isChanged: true', 'isStored: true, isChanged: true'],
  ]),
  ...of('books/fingerprint.ts', 'requests', [
    ['only the first parameters distinguish requests', 'parts.map(String)', 'parts.slice(0, 1).map(String)'],
  ]),
  ...of('requests/operations.ts', 'requests', [
    [
      'a hold of another amount is taken for a repeat',
      '[keyId, amountNanoUsd, minAmountNanoUsd, ttlMs]',
      '[keyId, minAmountNanoUsd, ttlMs]',
    ],
    [
      'a promotion is taken for the repeat of a payment',
      "['deposit', amountNanoUsd, source, reason]",
      "['deposit', amountNanoUsd, reason]",
    ],
    [
      'a correction downwards is taken for one upwards',
      "['adjust', amountNanoUsd, reason, request.linkedEntryId, ...refund]",
      "['adjust', amountNanoUsd ** 2n, reason, request.linkedEntryId, ...refund]",
    ],
    [
      'a payment refund is taken for the repeat of a correction',
      "['adjust', amountNanoUsd, reason, request.linkedEntryId, ...refund]",
      "['adjust', amountNanoUsd, reason, request.linkedEntryId]",
    ],
    [
      'the refund of another call is taken for a repeat',
      "['refund', holdId, amountNanoUsd ?? 'all', reason, ...charge]",
      "['refund', amountNanoUsd ?? 'all', reason, ...charge]",
    ],
    [
      'the refund of another charge is taken for a repeat',
      "['refund', holdId, amountNanoUsd ?? 'all', reason, ...charge]",
      "['refund', holdId, amountNanoUsd ?? 'all', reason]",
    ],
  ]),
  ...of('store/write.ts', 'store', [
    ['changed buckets are not written', 'await tx.overwrite(bucketTable, buckets);', ''],
    ['changed holds are not written', 'await tx.overwrite(holdTable, holds);', ''],
    ['entries are not written', 'set.entries.map((entry) => fromEntry(entry, columns.of(entry.accountId))),', '[],'],
    ['idempotency keys are not written', 'await tx.insert(operationTable, operations);', ''],
  ]),
  ...of('store/store.ts', 'store', [
    [
      'a repeated hold that would be refused is not looked up',
      'outcomes.some((outcome, index) => isRefused(outcome, waiting.length + index))',
      'outcomes.length < 0',
    ],
  ]),
  ...of('store/load.ts', 'store', [
    ['the key of a hold is not loaded', 'if (ofHolds.length > 0) loadBuckets', 'if (ofHolds.length < 0) loadBuckets'],
    ['the budgets of a hold are not loaded', 'for (const scopeId of hold.budgets) if (isNew', 'for (const scopeId of []) if (isNew'],
    ['idempotency keys are not looked for', 'if (credits.length > 0) await loadOperations', 'if (credits.length < 0) await loadOperations'],
  ]),
  ...of('store/rows.ts', 'store', [
    ['the limit of a key is not stored', 'key.limitNanoUsd ?? null', 'null'],
    ['the limit of a budget is not stored', 'bucket.limitNanoUsd ?? null', 'null'],
    ['the budgets of a hold are not stored', "Buffer.from(hold.budgets.join(''), 'hex')", 'null'],
    ['the version of a limit is not read', 'limitVersion: asBigInt(limitVersion)', 'limitVersion: -1n'],
    [
      'an amount is read as a number',
      'amountNanoUsd: asBigInt(amount),\n    checkpointNanoUsd',
      'amountNanoUsd: BigInt(Number(amount)),\n    checkpointNanoUsd',
    ],
  ]),
  ...of('verify/rebuild.ts', 'verify', [
    ['a gap in the journal is not found', 'this.expectEqual(`number of entry ${entry.seq}`, entry.seq, this.lastSeq + 1n);', ''],
    ['a wrong posting is not found', 'if (!known) {', 'if (known === undefined) {'],
    [
      'a wrong balance after an entry is not found',
      'this.expectEqual(`credited after entry ${entry.seq}`, entry.creditedAfterNanoUsd, this.creditedNanoUsd);',
      '',
    ],
    [
      'a wrong spend after an entry is not found',
      'this.expectEqual(`spent after entry ${entry.seq}`, entry.spentAfterNanoUsd, this.spentNanoUsd);',
      '',
    ],
    ['a negative sum held is not found', 'entry.heldAfterNanoUsd < 0n || ', ''],
    ['more held than there was is not found', ' || entry.heldAfterNanoUsd > heldMostNanoUsd', ''],
    ['money that no hold explains is not found', "this.expectEqual('held', account?.heldNanoUsd ?? 0n, sum(openHolds));", ''],
    ['a wrong number of entries is not found', "this.expectEqual('seq', account?.seq ?? 0n, stored.lastSeq);", ''],
    [
      'a wrong spend of a key is not found',
      'this.expectEqual(`spent of ${keyId}`, key?.spentNanoUsd ?? 0n, this.keySpentNanoUsd.get(keyId) ?? 0n);',
      '',
    ],
    [
      'money of a key that no hold explains is not found',
      'this.expectEqual(`held of ${keyId}`',
      'if (keyId === undefined) this.expectEqual(`held of ${keyId}`',
    ],
    ['a wrong spend of a budget is not found', 'this.expectEqual(`spent of ${name}`, bucket?.spentNanoUsd ?? 0n, spentNanoUsd);', ''],
    [
      'money of a budget that no hold explains is not found',
      'this.expectEqual(`held of ${name}`, bucket?.heldNanoUsd ?? 0n, heldNanoUsd.get(scopeId) ?? 0n);',
      '',
    ],
    ['a wrong capture is not found', 'this.expectEqual(`captured of ${entry.reference}`, hold.capturedNanoUsd, sums.capturedNanoUsd);', ''],
    [
      'a wrong shortfall is not found',
      'this.expectEqual(`shortfall of ${entry.reference}`, hold.shortfallNanoUsd, sums.shortfallNanoUsd);',
      '',
    ],
    ['a wrong refund is not found', 'this.expectEqual(`refunded of ${entry.reference}`, hold.refundedNanoUsd, sums.refundedNanoUsd);', ''],
    [
      'a hold without its last entry is not found',
      'this.expectEqual(`last entry of ${entry.reference}`, hold?.lastSeq ?? 0n, entry.seq);',
      '',
    ],
    [
      'a refund of no charge is not found',
      'if (!sums.seqs.has(linkedSeq)) this.expectEqual',
      'if (linkedSeq === undefined) this.expectEqual',
    ],
  ]),
];
