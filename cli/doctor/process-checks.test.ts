import { describe, expect, it } from '@jest/globals';
import { dayMs } from '#kit/clock.js';
import { ProcessInfo } from '#proto/process/v1/process.js';
import { CliError } from '../errors.js';
import { checkCertificates, checkClocks, checkDisks, checkVersions, type SeenProcess } from './process-checks.js';

const nowMs = 1_800_000_000_000;
const gb = 1_000_000_000n;

function seen(name: string, info: Partial<ProcessInfo> = {}, uncertainMs = 10): SeenProcess {
  return { name, info: ProcessInfo.fromPartial({ version: '1.0.0', nowMs: BigInt(nowMs), ...info }), seenAtMs: nowMs, uncertainMs };
}

function faultOf(check: () => string): string {
  try {
    return `no fault: ${check()}`;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    expect(error.fix).toMatch(/\w/);
    return error.message;
  }
}

describe('the doctor', () => {
  it('names the processes of each version while an upgrade is not finished', () => {
    expect(checkVersions([seen('auth'), seen('ledger')])).toBe('1.0.0 everywhere');
    expect(faultOf(() => checkVersions([seen('auth'), seen('ledger', { version: '1.1.0' })]))).toContain('1.0.0 (auth), 1.1.0 (ledger)');
  });

  it('names two processes whose clocks differ, but not for the time that a slow answer took', () => {
    const ahead = BigInt(nowMs + 5000);
    expect(faultOf(() => checkClocks([seen('auth'), seen('ledger', { nowMs: ahead })]))).toBe(
      'The clock of ledger is 5 s ahead of that of auth.',
    );
    expect(checkClocks([seen('auth'), seen('ledger', { nowMs: ahead }, 2500)])).toContain('within 3 s');
  });

  it("names certificates that expire within two weeks, the operator's included", () => {
    const later = BigInt(nowMs + 15 * dayMs);
    expect(checkCertificates([seen('auth', { certificateExpiresAtMs: later })], undefined, nowMs)).toContain('valid until');
    expect(checkCertificates([seen('auth')], undefined, nowMs)).toBe('none in use');
    const soon = faultOf(() => checkCertificates([seen('auth', { certificateExpiresAtMs: later })], nowMs + 13 * dayMs, nowMs));
    expect(soon).toMatch(/^Certificates expire soon: the operator: /);
    expect(soon).not.toContain('auth');
    const past = seen('auth', { certificateExpiresAtMs: BigInt(nowMs - dayMs) });
    expect(faultOf(() => checkCertificates([past], undefined, nowMs))).toMatch(/^Certificates have expired: auth: \S+ \S+\.$/);
    expect(faultOf(() => checkCertificates([past], nowMs + 13 * dayMs, nowMs))).toMatch(
      /^Certificates have expired: auth: .*\. Certificates expire soon: the operator: /,
    );
  });

  it('names disks that are almost full', () => {
    expect(checkDisks([seen('auth', { diskFreeBytes: 50n * gb, diskTotalBytes: 100n * gb })])).toBe('auth: 50.0 GB of 100.0 GB free');
    expect(checkDisks([seen('auth')])).toContain('other machines');
    expect(faultOf(() => checkDisks([seen('ledger', { diskFreeBytes: 4n * gb, diskTotalBytes: 100n * gb })]))).toContain('ledger: 4.0 GB');
  });
});
