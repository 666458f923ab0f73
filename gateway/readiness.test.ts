import { beforeEach, describe, expect, it } from '@jest/globals';
import { HealthCheckResponse_ServingStatus as Status } from '#grpc/health/v1/health.js';
import { ManualClock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { createReadiness } from './readiness.js';

describe('the readiness of a gateway', () => {
  const clock = new ManualClock();
  const serving = async () => ({ status: Status.SERVING });
  let state: { hasKeys: boolean; hasCatalog: boolean; hasUpstreams: boolean; isRecording: boolean; hasRoom: boolean };
  let ledger: () => Promise<{ status: Status }>;
  let metering: () => Promise<{ status: Status }>;

  beforeEach(() => {
    state = { hasKeys: true, hasCatalog: true, hasUpstreams: true, isRecording: true, hasRoom: true };
    ledger = serving;
    metering = serving;
  });

  const missing = (): Promise<string[]> =>
    createReadiness({
      health: { ledger: { check: () => ledger() }, metering: { check: () => metering() } },
      keys: { isUsable: () => state.hasKeys },
      models: { hasCatalog: () => state.hasCatalog, isInferenceReached: () => state.hasUpstreams },
      recorder: { isRecording: () => state.isRecording },
      spool: { hasRoom: async () => state.hasRoom },
      clock,
    })();

  it('names nothing while calls can be served', async () => {
    expect(await missing()).toEqual([]);
  });

  it('names what has not arrived yet after a start', async () => {
    state = { ...state, hasKeys: false, hasCatalog: false, hasUpstreams: false };
    expect(await missing()).toEqual(['auth', 'catalog', 'inference']);
  });

  it('names services whose databases cannot write, and services that cannot be reached', async () => {
    ledger = async () => ({ status: Status.NOT_SERVING });
    metering = async () => Promise.reject(new AppError('service_unavailable', 'Unavailable.'));
    expect(await missing()).toEqual(['ledger', 'metering']);
  });

  it('names a spool that is full, and metering while it records nothing', async () => {
    state = { ...state, hasRoom: false, isRecording: false };
    expect(await missing()).toEqual(['metering', 'spool']);
  });

  it('names no service of which only one replica is stopping', async () => {
    let checks = 0;
    ledger = async () => ({ status: (checks += 1) % 2 === 1 ? Status.NOT_SERVING : Status.SERVING });
    expect(await missing()).toEqual([]);
  });

  it('names no service of which only one replica does not answer, and does not wait for that replica', async () => {
    let checks = 0;
    ledger = async () => ((checks += 1) % 2 === 1 ? new Promise(() => undefined) : { status: Status.SERVING });
    expect(await missing()).toEqual([]);
  });
});
