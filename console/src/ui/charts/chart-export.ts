// Exports a chart as a file: its figures as CSV, or a picture. Loaded on demand.
import { heightsOf } from './bar-scale.js';
import { saveFile } from '../save-file.js';

/** The contents of a chart. */
export interface DrawnChart {
  readonly title: string;
  readonly series: readonly { readonly name: string; readonly colour: string }[];
  readonly bars: readonly { readonly label: string; readonly values: readonly number[] }[];
  readonly marks: readonly { readonly value: number; readonly text: string }[];
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | undefined)[] }[];
}

/** Saves rows as CSV. Texts that a spreadsheet would evaluate as formulas are prefixed with an apostrophe. */
export function saveCsv(name: string, rows: readonly (readonly string[])[]): void {
  const cell = (text: string): string => {
    const safe = /^([=+@\t\r]|-(?!\d+(\.\d+)?$))/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  saveFile(new Blob([rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')], { type: 'text/csv' }), `${name}.csv`);
}

const size = { width: 1200, height: 520, left: 90, right: 20, top: 90, bottom: 50 };

/** Saves the chart as a PNG in the colours of the page. */
export function savePicture(name: string, { title, series, bars, marks, lines }: DrawnChart): void {
  const canvas = document.createElement('canvas');
  canvas.width = size.width * 2;
  canvas.height = size.height * 2;
  const context = canvas.getContext('2d')!;
  context.scale(2, 2);
  const style = getComputedStyle(document.body);
  const colour = (token: string): string => {
    const probe = document.createElement('span');
    probe.style.color = `var(${token})`;
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  const [ground, text, soft, line] = ['--color-ground', '--color-text', '--color-soft', '--color-line'].map(colour) as [
    string,
    string,
    string,
    string,
  ];
  const [width, height] = [size.width - size.left - size.right, size.height - size.top - size.bottom];
  const top = marks.at(-1)!.value;
  const y = (value: number): number => size.top + height - (value / top) * height;
  const write = (words: string, x: number, at: number, fill: string, font: string, align: CanvasTextAlign = 'left'): void => {
    context.fillStyle = fill;
    context.font = `${font} ${style.fontFamily}`;
    context.textAlign = align;
    context.fillText(words, x, at);
  };
  context.fillStyle = ground;
  context.fillRect(0, 0, size.width, size.height);
  write(title, 20, 32, text, '600 18px');
  let x = 20;
  for (const { name: each, colour: token } of series) {
    context.fillStyle = colour(token);
    context.fillRect(x, 52, 12, 12);
    write(each, x + 18, 63, soft, '13px');
    x += context.measureText(each).width + 40;
  }
  for (const mark of marks) {
    context.fillStyle = line;
    context.fillRect(size.left, y(mark.value), width, 1);
    write(mark.text, size.left - 10, y(mark.value) + 4, soft, '13px', 'right');
  }
  const step = width / Math.max(1, bars.length);
  const every = Math.max(1, Math.ceil(bars.length / 10));
  for (const [index, bar] of bars.entries()) {
    let below = size.top + height;
    for (const [at, part] of heightsOf(bar.values, top, height).entries()) {
      below -= part;
      context.fillStyle = colour(series[at]!.colour);
      context.fillRect(size.left + index * step + step * 0.12, below, step * 0.76, part);
    }
    if (index % every === 0) write(bar.label, size.left + (index + 0.5) * step, size.height - 22, soft, '13px', 'center');
  }
  context.strokeStyle = text;
  context.lineWidth = 2;
  context.setLineDash([6, 4]);
  for (const { values } of lines) {
    context.beginPath();
    for (const [index, value] of values.entries())
      if (value !== undefined) context.lineTo(size.left + (index + 0.5) * step, y(Math.min(value, top)));
    context.stroke();
  }
  canvas.toBlob((blob) => blob !== null && saveFile(blob, `${name}.png`));
}
