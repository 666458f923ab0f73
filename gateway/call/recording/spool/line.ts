// Encodes the report of an ended call as one line of a spool file: version, checksum, call id, trace context, report. Pure.
import { crc32 } from 'node:zlib';
import { RecordUsageRequest } from '#proto/metering/v1/metering.js';

const version = '1';

/** A report that is waiting to be recorded by metering. */
export interface SpooledReport {
  readonly callId: string;
  /** The trace context of the call (W3C traceparent); empty when its trace is not recorded. */
  readonly traceparent: string;
  /** The encoded RecordUsageRequest. */
  readonly bytes: Buffer;
}

/** The contents of a spool file. */
export interface SpoolContent {
  readonly reports: readonly SpooledReport[];
  /** Number of complete lines that are corrupt. */
  readonly damagedLines: number;
  /** Whether the last line is incomplete: its write was cut off, so it was never acknowledged as durable. */
  readonly isTorn: boolean;
}

/** Returns the report as it is kept. */
export function spooled(request: RecordUsageRequest, traceparent: string): SpooledReport {
  return { callId: request.call!.id, traceparent, bytes: Buffer.from(RecordUsageRequest.encode(request).finish()) };
}

/** Returns the length of the line of a report, within a few bytes. */
export function lineBytes({ callId, bytes }: SpooledReport): number {
  return callId.length + Math.ceil(bytes.length / 3) * 4;
}

/** Returns the line of a report, with its line break. The id is included for operators who search the file. */
export function encodeLine({ callId, traceparent, bytes }: SpooledReport): string {
  const content = `${callId} ${traceparent} ${bytes.toString('base64')}`;
  return `${version} ${checksum(content)} ${content}\n`;
}

/** Parses a file, skipping what is damaged. */
export function decodeLines(file: Buffer): SpoolContent {
  const lines = file.toString('latin1').split('\n');
  const isTorn = lines.pop() !== '';
  const reports = lines.map(decodeLine);
  const whole = reports.filter((report) => report !== undefined);
  return { reports: whole, damagedLines: reports.length - whole.length, isTorn };
}

function decodeLine(line: string): SpooledReport | undefined {
  const [lineVersion, sum, callId, traceparent, base64, ...more] = line.split(' ');
  if (lineVersion !== version || callId === undefined || traceparent === undefined || base64 === undefined || more.length > 0)
    return undefined;
  if (sum !== checksum(`${callId} ${traceparent} ${base64}`)) return undefined;
  return { callId, traceparent, bytes: Buffer.from(base64, 'base64') };
}

function checksum(content: string): string {
  return crc32(content).toString(16).padStart(8, '0');
}
