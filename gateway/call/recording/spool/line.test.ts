import { expect, it } from '@jest/globals';
import { crc32 } from 'node:zlib';
import { decodeLines, encodeLine } from './line.js';

const report = { callId: `req_${'1'.repeat(32)}`, traceparent: '', bytes: Buffer.from([0, 10, 255]) };
const line = encodeLine(report);
const read = (text: string) => decodeLines(Buffer.from(text, 'latin1'));

it('returns the reports of a file unchanged', () => {
  expect(read(line + line)).toEqual({ reports: [report, report], damagedLines: 0, isTorn: false });
  expect(read('')).toEqual({ reports: [], damagedLines: 0, isTorn: false });
});

it('does not count an incomplete last line as damaged', () => {
  expect(read(line + line.slice(0, -1))).toEqual({ reports: [report], damagedLines: 0, isTorn: true });
});

it.each([
  ['of another version', line.replace(/^1/, '2')],
  ['with another checksum', line.replace('AAr/', 'AAr+')],
  ['with more content than a report', line.replace('\n', ' more\n')],
  ['with less', `1 ${crc32('a b').toString(16)} a b\n`],
  ['without content', '\n'],
])('skips a line %s', (_, damaged) => {
  expect(read(damaged + line)).toEqual({ reports: [report], damagedLines: 1, isTorn: false });
});
