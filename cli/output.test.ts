import { describe, expect, it } from '@jest/globals';
import { instant, Output, usd, usdJson, type View } from './output.js';

interface Fruit {
  readonly name: string;
  readonly priceNanoUsd: bigint;
}

const view: View<Fruit> = {
  json: (fruit) => ({ name: fruit.name, ...usdJson('price', fruit.priceNanoUsd) }),
  columns: [
    { title: 'fruit', text: (fruit) => fruit.name },
    { title: 'price', text: (fruit) => usd(fruit.priceNanoUsd), align: 'right' },
  ],
};
const fruits = [
  { name: 'fig', priceNanoUsd: 250_000_000n },
  { name: 'pomegranate', priceNanoUsd: 12_000_000_000n },
];

function write(json: boolean, work: (out: Output) => void): { stdout: string; stderr: string } {
  const written = { stdout: '', stderr: '' };
  work(new Output({ stdout: (text) => (written.stdout += text), stderr: (text) => (written.stderr += text) }, json));
  return written;
}

describe('a list', () => {
  it('is an aligned table by default', () => {
    expect(write(false, (out) => out.list(view, fruits)).stdout).toBe('fruit        price\nfig          $0.25\npomegranate    $12\n');
    expect(write(false, (out) => out.list(view, [])).stdout).toBe('none\n');
  });

  it('has one heading, however many pages it has', () => {
    const { stdout } = write(false, (out) => {
      const table = out.table(view);
      table.add(fruits.slice(1));
      table.add(fruits.slice(0, 1));
      table.end();
    });
    expect(stdout).toBe('fruit        price\npomegranate    $12\nfig          $0.25\n');
  });

  it('is JSON lines with --json, and nothing else', () => {
    const { stdout, stderr } = write(true, (out) => {
      out.note('Well done.');
      out.list(view, fruits);
      out.aside('There are more.');
    });
    expect(stdout).toBe(
      '{"name":"fig","price_usd":"0.25","price_nano_usd":"250000000"}\n{"name":"pomegranate","price_usd":"12","price_nano_usd":"12000000000"}\n',
    );
    expect(stderr).toBe('There are more.\n');
    expect(write(true, (out) => out.list(view, [])).stdout).toBe('');
  });
});

it('shows no control characters of texts that others chose', () => {
  const fruit = { name: 'fig\u001b]0;owned\u0007\n$0 \u009b2J', priceNanoUsd: 0n };
  const shown = 'fig ]0;owned  $0  2J';
  expect(write(false, (out) => out.list(view, [fruit])).stdout).toBe(`fruit                 price\n${shown}     $0\n`);
  expect(write(false, (out) => out.show(view, fruit)).stdout).toBe(`fruit  ${shown}\nprice  $0\n`);
});

describe('one object', () => {
  it('is labelled lines by default, without empty ones', () => {
    expect(write(false, (out) => out.show(view, { name: '', priceNanoUsd: -1n })).stdout).toBe('price  -$0.000000001\n');
  });

  it('is one JSON object with --json, including the content of notes', () => {
    expect(write(true, (out) => out.show(view, fruits[0]!, { ripe: true })).stdout).toBe(
      '{"name":"fig","price_usd":"0.25","price_nano_usd":"250000000","ripe":true}\n',
    );
  });
});

it('shows an absent time as empty', () => {
  expect([instant(1_800_000_000_123n), instant(0n), instant(undefined)]).toEqual(['2027-01-15 08:00:00Z', '', '']);
});
