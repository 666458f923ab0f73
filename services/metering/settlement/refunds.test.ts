import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { EntryKind } from '#proto/ledger/v1/ledger.js';
import type { MeteringService, RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { ListUnsettledChargesRequest, Outcome, UnsettledState } from '#proto/metering/v1/metering.js';
import { endRefund, RefundState } from '../store/settlement/refund-outbox.js';
import { closeRefused } from '../store/settlement/unsettled.js';
import { requeueSettlements } from '../store/settlement/requeue.js';
import { call, report } from '../testing/calls.js';
import { aWhile, find, Harness, outboxOf, record, until } from '../testing/harness.js';
import { heldNanoUsd, type Money, startMoney } from '../testing/with-ledger.js';

// Each test creates databases and waits for settlements.
jest.setTimeout(60_000);

const none = Buffer.alloc(0);
const whole = (changes: Partial<RecordUsageRequest> = {}): RecordUsageRequest => report({ call: call({ streaming: false }), ...changes });
const refund = (service: MeteringService, { call: ended }: RecordUsageRequest, idempotencyKeyHash: Buffer = none) =>
  service.refundUndeliveredAnswer({ callId: ended!.id, accountId: ended!.accountId, idempotencyKeyHash });

describe.each(testEngines)('the refund of an undelivered answer on %s', (engine) => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.create(engine);
  });

  afterEach(() => harness.close());

  const isDelivered = (): Promise<boolean> => isDone({ clock: harness.clock, meteringDb: harness.db });

  /** Records a call and waits until the ledger has taken its charge. */
  async function settled(service: MeteringService, request: RecordUsageRequest): Promise<void> {
    await record(service, request);
    await until(async () => (await find(service, request.call!.id))?.settlement !== undefined);
  }

  it('is booked once, however often it is reported and its answer is lost', async () => {
    const { service } = await harness.replica();
    const request = whole();
    await settled(service, request);
    harness.ledger.losesAnswers = true;
    await Promise.all([refund(service, request), refund(service, request), refund(service, request)]);
    await until(() => harness.ledger.refundDeliveries > 0);
    harness.ledger.losesAnswers = false;
    await until(isDelivered);
    await refund(service, request);
    await until(isDelivered);
    expect(harness.ledger.refundDeliveries).toBeGreaterThan(1);
    expect([...harness.ledger.refunds.values()]).toEqual([
      expect.objectContaining({ holdId: request.call!.id, accountId: request.call!.accountId, amountNanoUsd: undefined }),
    ]);
  });

  it('is booked for each call of an account', async () => {
    const { service } = await harness.replica();
    const accountId = newId('acct');
    const requests = [1, 2].map(() => whole({ call: call({ streaming: false, accountId }) }));
    for (const request of requests) {
      await settled(service, request);
      await refund(service, request);
    }
    await until(() => harness.ledger.refunds.size === 2);
    expect([...harness.ledger.refunds.values()].map(({ holdId }) => holdId)).toEqual(requests.map((request) => request.call!.id));
  });

  it('is not sent before the ledger has taken the charge, which it would refuse to refund', async () => {
    const { service } = await harness.replica();
    const answers = harness.ledger.delaySettlements();
    const request = whole();
    await record(service, request);
    await refund(service, request);
    await until(() => answers.length === 1);
    await aWhile();
    expect(harness.ledger.refundDeliveries).toBe(0);
    answers[0]!();
    await until(async () => {
      harness.clock.advance(1000);
      return harness.ledger.refundDeliveries === 1;
    });
  });

  it('is set aside if the ledger refuses it for another reason than that nothing is left', async () => {
    const { service } = await harness.replica();
    harness.ledger.client.refund = () => Promise.reject(new AppError('failed_precondition', 'The hold is open.'));
    const request = whole();
    await settled(service, request);
    await refund(service, request);
    await until(async () => (await outboxOf(service)).failed === 1n);
  });

  it('does not hold up a stop, however many wait for a slow ledger', async () => {
    const metering = await harness.replica();
    const { client } = harness.ledger;
    const requests = Array.from({ length: 5 }, () => whole());
    for (const request of requests) await record(metering.service, request);
    await until(async () => (await outboxOf(metering.service)).pending === 0n);
    let isStopping = false;
    let afterStop = 0;
    const answers: (() => void)[] = [];
    client.refund = async () => {
      if (isStopping) afterStop += 1;
      else await new Promise<void>((resolve) => answers.push(resolve));
      throw new AppError('deadline_exceeded', 'No answer came in time.');
    };
    await refund(metering.service, requests[0]!);
    await until(() => answers.length === 1);
    for (const request of requests.slice(1)) await refund(metering.service, request);
    answers[0]!();
    // The others are delivered in one go.
    await until(() => answers.length === 2);
    isStopping = true;
    const stopped = metering.stop();
    await aWhile();
    answers[1]!();
    await stopped;
    expect(afterStop).toBe(0);
  });

  it('is retried less and less often while it fails, up to the longest pause', async () => {
    const { service } = await harness.replica({ settleBackoffMaxMs: 2000 });
    const request = whole();
    await settled(service, request);
    harness.ledger.losesAnswers = true;
    await refund(service, request);
    for (const [index, pauseMs] of [500, 1000, 2000, 2000].entries()) {
      await until(async () => Number((await harness.db.knex('refund_outbox').first()).attempts) === index + 1);
      harness.clock.advance(pauseMs - 1);
      await aWhile();
      expect(harness.ledger.refundDeliveries).toBe(index + 1);
      harness.clock.advance(1);
      await until(() => harness.ledger.refundDeliveries === index + 2);
    }
  });

  it('that is booked stays booked if another process is then told that it is refused', async () => {
    const { service, stop } = await harness.replica();
    const request = whole();
    await settled(service, request);
    await refund(service, request);
    await until(isDelivered);
    await stop();
    const { id: callId, accountId } = request.call!;
    await endRefund(harness.db, { callId, accountId, capturedNanoUsd: 200_000n, attempts: 0 }, RefundState.refused, 'Refused.');
    expect(await isDelivered()).toBe(true);
    expect((await outboxOf(service)).failed).toBe(0n);
  });

  it('waits for the settlement, and survives a restart', async () => {
    harness.ledger.isUnavailable = true;
    const crashed = await harness.replica();
    const request = whole();
    await record(crashed.service, request);
    await refund(crashed.service, request);
    await crashed.stop();
    harness.ledger.isUnavailable = false;
    await harness.replica();
    await until(isDelivered);
    expect([...harness.ledger.settled.keys()]).toEqual([request.call!.id]);
    expect(harness.ledger.refunds.size).toBe(1);
  });

  it('is sent when a process starts, even if its next attempt was scheduled for later', async () => {
    const stopped = await harness.replica();
    const request = whole();
    await settled(stopped.service, request);
    harness.ledger.isUnavailable = true;
    // The clock is ahead.
    harness.clock.step(3_600_000);
    await refund(stopped.service, request);
    await stopped.stop();
    harness.clock.step(-3_600_000);
    harness.ledger.isUnavailable = false;
    await harness.replica();
    await until(async () => harness.ledger.refunds.size === 1);
  });

  it('is set aside if the ledger refuses it permanently, and holds up no other; an operator retries or closes it', async () => {
    const { service } = await harness.replica();
    // Lists are in the order of ids. Those of one millisecond are random.
    const later = (ms: number) => whole({ call: call({ streaming: false, id: newId('req', Date.now() + ms) }) });
    const [first, second, third] = [later(0), later(1), later(2)];
    for (const request of [first, second, third]) await record(service, request);
    await until(async () => (await find(service, third.call!.id))?.settlement !== undefined && (await outboxOf(service)).pending === 0n);
    const { refused } = harness.ledger;
    refused.add(first.call!.id).add(second.call!.id);
    for (const request of [first, second, third]) await refund(service, request);
    await until(isDelivered);
    expect([...harness.ledger.refunds.values()]).toMatchObject([{ holdId: third.call!.id }]);
    expect(harness.lines.map(({ msg, call_id }) => [msg, call_id])).toEqual(
      expect.arrayContaining([['the ledger refused a refund permanently; it is kept for operators', first.call!.id]]),
    );
    const deliveries = harness.ledger.refundDeliveries;
    harness.clock.advance(86_400_000);
    await aWhile();
    expect(harness.ledger.refundDeliveries).toBe(deliveries);
    expect(await outboxOf(service)).toMatchObject({ pending: 0n, failed: 2n });

    const list = async (state: UnsettledState, pageToken = '', pageSize = 0) =>
      service.listUnsettledCharges({ accountId: '', state, pageSize, pageToken });
    const rejected = { state: UnsettledState.UNSETTLED_STATE_REJECTED, chargeNanoUsd: -200_000n, error: 'No charge of this call.' };
    expect((await list(UnsettledState.UNSETTLED_STATE_UNSPECIFIED)).charges).toMatchObject(
      [first, second].map(({ call: of }) => ({ ...rejected, callId: of!.id, accountId: of!.accountId, keyId: of!.keyId })),
    );
    const page = await list(rejected.state, '', 1);
    expect(page.charges).toMatchObject([{ callId: first.call!.id }]);
    expect((await list(rejected.state, page.nextPageToken, 1)).charges).toMatchObject([{ callId: second.call!.id }]);
    expect((await list(UnsettledState.UNSETTLED_STATE_PENDING)).charges).toEqual([]);

    await service.closeSettlement({ callId: first.call!.id, reason: 'adjusted' });
    const closed = { callId: first.call!.id, chargeNanoUsd: -200_000n, closeReason: 'adjusted' };
    expect((await list(UnsettledState.UNSETTLED_STATE_CLOSED)).charges).toMatchObject([closed]);
    refused.clear();
    expect(await service.retrySettlement({ callId: '' })).toEqual({ retried: 1n });
    await until(isDelivered);
    expect(harness.ledger.refunds.size).toBe(2);
    expect((await outboxOf(service)).failed).toBe(0n);
  });

  it('that is refused is listed among refused charges, by account and page by page', async () => {
    const { service } = await harness.replica();
    const [first, refunded, last] = [whole(), whole(), whole()].toSorted((one, other) => (one.call!.id < other.call!.id ? -1 : 1)) as [
      RecordUsageRequest,
      RecordUsageRequest,
      RecordUsageRequest,
    ];
    const charged = [first, last];
    for (const request of charged) harness.ledger.refused.add(request.call!.id);
    for (const request of [first, refunded, last]) await record(service, request);
    await until(async () => (await outboxOf(service)).pending === 0n);
    harness.ledger.refused.add(refunded.call!.id);
    await refund(service, refunded);
    await until(async () => (await outboxOf(service)).failed === 3n);

    const list = async (fields: Partial<ListUnsettledChargesRequest>) => {
      const { charges, nextPageToken } = await service.listUnsettledCharges(ListUnsettledChargesRequest.fromPartial(fields));
      return { ids: charges.map(({ callId }) => callId), nextPageToken };
    };
    const all = [first, refunded, last].map(({ call: ended }) => ended!.id);
    expect((await list({})).ids).toEqual(all);
    const page = await list({ pageSize: 2 });
    expect(page.ids).toEqual(all.slice(0, 2));
    expect((await list({ pageSize: 2, pageToken: page.nextPageToken })).ids).toEqual(all.slice(2));
    expect((await list({ accountId: refunded.call!.accountId })).ids).toEqual([refunded.call!.id]);
    expect((await list({ accountId: first.call!.accountId })).ids).toEqual([first.call!.id]);
  });

  it('is not queued once an operator has closed the charge or its refund', async () => {
    const { service } = await harness.replica();
    const [unpaid, paid] = [whole(), whole()];
    harness.ledger.refused.add(unpaid.call!.id);
    for (const request of [unpaid, paid]) await record(service, request);
    await until(async () => (await find(service, paid.call!.id))?.settlement !== undefined && (await outboxOf(service)).failed === 1n);
    harness.ledger.refused.add(paid.call!.id);
    await refund(service, paid);
    await until(async () => (await outboxOf(service)).failed === 2n);
    for (const request of [unpaid, paid]) {
      await service.closeSettlement({ callId: request.call!.id, reason: 'adjusted' });
      await refund(service, request);
    }
    expect(await harness.db.knex('refund_outbox').select()).toEqual([]);
    // After the ledger was restored from a backup, it may refuse the charge whose refund was closed.
    await requeueSettlements(harness.db, [paid.call!.id], harness.clock.nowMs());
    await until(async () => (await outboxOf(service)).failed === 1n);
    const { charge } = await service.closeSettlement({ callId: paid.call!.id, reason: 'lost' });
    expect(charge).toMatchObject({ chargeNanoUsd: 200_000n, closeReason: 'lost' });
  });

  // A SQLite file has one writer.
  if (engine === 'mysql')
    it('is not queued while an operator is closing the charge', async () => {
      const { service } = await harness.replica();
      const request = whole();
      harness.ledger.refused.add(request.call!.id);
      await record(service, request);
      await until(async () => (await outboxOf(service)).failed === 1n);
      const { promise: isClosing, resolve: begin } = Promise.withResolvers<void>();
      const { promise: isHeld, resolve: commit } = Promise.withResolvers<void>();
      const closed = closeRefused(harness.db, request.call!.id, 'lost', harness.clock.nowMs(), () => {
        begin();
        return isHeld;
      });
      await isClosing;
      const refunded = refund(service, request);
      await untilWaiting(harness.db, 'outbox', 1);
      commit();
      await Promise.all([closed, refunded]);
      expect(await harness.db.knex('refund_outbox').select()).toEqual([]);
    });

  it('is not sent where nothing was captured', async () => {
    harness.ledger.capturedMaxNanoUsd = 0n;
    const { service } = await harness.replica();
    const request = whole();
    await record(service, request);
    await refund(service, request);
    await until(isDelivered);
    expect(harness.ledger.refundDeliveries).toBe(0);
  });

  it.each<[what: string, request: () => RecordUsageRequest]>([
    ['streaming', () => report()],
    ['disconnected', () => whole({ outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED })],
  ])('is refused for a %s call', async (_what, make) => {
    const { service } = await harness.replica();
    const request = make();
    await record(service, request);
    await expect(refund(service, request)).rejects.toMatchObject({ reason: 'failed_precondition' });
    expect(await isDelivered()).toBe(true);
  });

  it('is refused for another account’s call, an unknown call and an old record, and does nothing for a free call', async () => {
    const { service } = await harness.replica();
    const request = whole();
    await record(service, request);
    const { id: callId } = request.call!;
    await expect(service.refundUndeliveredAnswer({ callId, accountId: newId('acct'), idempotencyKeyHash: none })).rejects.toMatchObject({
      reason: 'not_found',
    });
    await expect(refund(service, whole())).rejects.toMatchObject({ reason: 'not_found' });
    harness.clock.advance(86_400_001);
    await expect(refund(service, request)).rejects.toMatchObject({ reason: 'failed_precondition' });
    const free = whole({ free: true });
    await record(service, free);
    await refund(service, free);
    await aWhile();
    expect(await isDelivered()).toBe(true);
    expect(harness.ledger.refundDeliveries).toBe(0);
  });

  it('releases the idempotency key with its stored answer, so that a repeat of the request runs again', async () => {
    const { service } = await harness.replica();
    const keyHash = Buffer.alloc(32, 7);
    const request = whole({ storedAnswer: Buffer.from('answer') });
    request.call!.idempotencyKeyHash = keyHash;
    const { id: callId, accountId } = request.call!;
    const reserve = async (id: string) =>
      (await service.reserveIdempotencyKey({ accountId, keyHash, fingerprint: Buffer.alloc(32, 1), callId: id })).result?.$case;
    expect(await reserve(callId)).toBe('reserved');
    await record(service, request);
    expect(await reserve(newId('req'))).toBe('completed');
    await refund(service, request, keyHash);
    const repeat = newId('req');
    expect(await reserve(repeat)).toBe('reserved');
    // The report of the refund may come again; the key is another call's by then.
    await refund(service, request, keyHash);
    expect(await reserve(newId('req'))).toBe('inProgress');
    expect(Number((await harness.db.knex('stored_answer').count({ rows: '*' }))[0]!['rows'])).toBe(0);
  });
});

/** Lets time pass, and returns whether no refund is left. */
async function isDone({ clock, meteringDb }: Pick<Money, 'clock' | 'meteringDb'>): Promise<boolean> {
  clock.advance(1000);
  return Number((await meteringDb.knex('refund_outbox').where({ state: RefundState.pending }).count({ rows: '*' }))[0]!['rows']) === 0;
}

describe.each(testEngines)('the books after a refund of an undelivered answer on %s', (engine) => {
  it('agree, and the account has its money back', async () => {
    const money = await startMoney(engine);
    try {
      const customer = await money.customer();
      const balanceOf = async () => (await money.ledger.getBalance({ accountId: customer.accountId })).balance!;
      const before = await balanceOf();
      const id = await money.hold(customer);
      const request = whole({
        call: call({ ...customer, id, streaming: false, heldNanoUsd, price: money.catalog[0]!, startedAtMs: BigInt(money.clock.nowMs()) }),
      });
      await money.metering.recordUsage(request);
      await refund(money.metering, request);
      const kinds = async () =>
        (
          await money.ledger.listEntries({
            accountId: customer.accountId,
            pageSize: 10,
            pageToken: '',
            month: '',
            kinds: [],
            oldestFirst: false,
          })
        ).entries.map(({ kind }) => kind);
      await until(async () => {
        money.clock.advance(1000);
        return (await kinds()).includes(EntryKind.ENTRY_KIND_REFUND);
      });
      // An operator who read an earlier log cannot refund it twice, and a repeated report changes nothing.
      const again = money.ledger.refund({
        idempotencyKey: 'r',
        accountId: customer.accountId,
        holdId: id,
        amountNanoUsd: undefined,
        reason: 'x',
      });
      await expect(again).rejects.toMatchObject({ reason: 'failed_precondition' });
      await refund(money.metering, request);
      await until(() => isDone(money));
      expect(await kinds()).toEqual([EntryKind.ENTRY_KIND_REFUND, EntryKind.ENTRY_KIND_CHARGE, EntryKind.ENTRY_KIND_DEPOSIT]);
      expect(await balanceOf()).toMatchObject({ availableNanoUsd: before.availableNanoUsd, spentNanoUsd: 0n, heldNanoUsd: 0n });
      expect((await money.ledger.getHold({ holdId: id, accountId: customer.accountId })).hold).toMatchObject({
        capturedNanoUsd: 200_000n,
        refundedNanoUsd: 200_000n,
      });
      expect((await find(money.metering, id))?.settlement).toMatchObject({ capturedNanoUsd: 200_000n });
      expect((await money.reconcile()).drifts).toEqual([]);
      const month = new Date(money.clock.nowMs()).toISOString().slice(0, 7);
      expect((await money.ledger.getStatement({ accountId: customer.accountId, month })).statement).toMatchObject({
        chargesNanoUsd: 200_000n,
        refundsNanoUsd: 200_000n,
        closingNanoUsd: before.availableNanoUsd,
      });
      const verified = await money.ledger.verify({ accountId: '' });
      expect(verified.drifts).toEqual([]);
    } finally {
      await money.stop();
    }
  });

  it('agree even if an operator refunded it first', async () => {
    const money = await startMoney(engine);
    try {
      const customer = await money.customer();
      const id = await money.makeCall(customer);
      await money.meteringDb.knex('usage_record').update({ streaming: 0 });
      await money.ledger.refund({ idempotencyKey: 'r', accountId: customer.accountId, holdId: id, amountNanoUsd: undefined, reason: 'x' });
      await money.metering.refundUndeliveredAnswer({ callId: id, accountId: customer.accountId, idempotencyKeyHash: none });
      await until(() => isDone(money));
      expect((await outboxOf(money.metering)).failed).toBe(0n);
      expect((await money.ledger.getHold({ holdId: id, accountId: customer.accountId })).hold?.refundedNanoUsd).toBe(200_000n);
      expect((await money.reconcile()).drifts).toEqual([]);
    } finally {
      await money.stop();
    }
  });
});
