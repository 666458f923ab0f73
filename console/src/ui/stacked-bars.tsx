// A chart of stacked bars, drawn without a library, with the same figures in a table.
import { useId, useState } from 'react';
import { commonText } from '../i18n/common.js';
import { useText } from '../i18n/text.js';
import { Disclosure } from './disclosure.js';
import { classNames } from './class-names.js';

/** A bar: its name on the axis, and a figure for each series. */
export interface BarOfChart {
  /** Unique, for example the instant at which the hour begins. */
  readonly id: string;
  readonly label: string;
  /** A shorter label for the axis; by default the label. */
  readonly axisLabel?: string;
  /** In the order of the series; used only for drawing, because floats are not exact. */
  readonly values: readonly number[];
}

interface Props {
  readonly title: string;
  readonly series: readonly string[];
  readonly bars: readonly BarOfChart[];
  /** Returns an exact figure as text, for the table. */
  readonly text: (bar: number, series: number) => string;
  /** Returns a round figure for the axis. */
  readonly axisText: (value: number) => string;
  readonly totalText: (bar: number) => string;
  readonly labelName: string;
  readonly totalName: string;
}

const fills = [
  'fill-series-1',
  'fill-series-2',
  'fill-series-3',
  'fill-series-4',
  'fill-series-5',
  'fill-series-6',
  'fill-series-7',
  'fill-series-8',
  'fill-series-9',
];
const grounds = [
  'bg-series-1',
  'bg-series-2',
  'bg-series-3',
  'bg-series-4',
  'bg-series-5',
  'bg-series-6',
  'bg-series-7',
  'bg-series-8',
  'bg-series-9',
];
const height = 200;
const width = 800;

/** Draws at most nine series; combine small ones first. */
export function StackedBars({ title, series, bars, text, axisText, totalText, labelName, totalName }: Props) {
  const t = useText(commonText);
  const titleId = useId();
  const [active, setActive] = useState<number>();
  const totals = bars.map((bar) => bar.values.reduce((sum, value) => sum + value, 0));
  const top = niceTop(Math.max(...totals, 0));
  const step = width / Math.max(1, bars.length);
  const shown = active ?? -1;
  const every = Math.max(1, Math.ceil(bars.length / 8));
  return (
    <figure className="min-w-0">
      <figcaption id={titleId} className="mb-2 font-medium">
        {title}
      </figcaption>
      <ul className="mb-2 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {series.map((name, index) => (
          <li key={name} className="inline-flex min-w-0 items-center gap-1.5">
            <span aria-hidden className={classNames('swatch size-3 shrink-0 rounded-sm', grounds[index % grounds.length])} />
            <span className="wrap-anywhere">{name}</span>
          </li>
        ))}
      </ul>
      <div className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2">
        <div aria-hidden className="flex h-50 flex-col justify-between text-right text-xs text-soft tabular">
          <span>{axisText(top)}</span>
          <span>{axisText(top / 2)}</span>
          <span>{axisText(0)}</span>
        </div>
        <svg
          role="img"
          aria-labelledby={titleId}
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          className="h-50 w-full"
          onPointerLeave={() => setActive(undefined)}
        >
          {[0, 0.5, 1].map((part) => (
            <line
              key={part}
              x1="0"
              x2={width}
              y1={part * height}
              y2={part * height}
              className="stroke-line"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          {bars.map((bar, index) => {
            let below = 0;
            return (
              <g key={bar.id} onPointerEnter={() => setActive(index)}>
                <rect x={index * step} y="0" width={step} height={height} className={index === shown ? 'fill-hover' : 'fill-transparent'} />
                {bar.values.map((value, at) => {
                  const size = top === 0 ? 0 : (value / top) * height;
                  below += size;
                  return (
                    <rect
                      key={series[at]}
                      x={index * step + step * 0.12}
                      y={height - below}
                      width={step * 0.76}
                      height={size}
                      className={fills[at % fills.length]}
                    />
                  );
                })}
              </g>
            );
          })}
        </svg>
        <div />
        <div aria-hidden className="mt-1 flex text-xs text-soft">
          {bars.map((bar, index) => (
            <span key={bar.id} className="flex min-w-0 flex-1 justify-center whitespace-nowrap">
              {index % every === 0 && (
                <span className={index % (every * 2) === 0 ? undefined : 'max-md:hidden'}>{bar.axisLabel ?? bar.label}</span>
              )}
            </span>
          ))}
        </div>
      </div>
      <p className="min-h-6 text-sm text-soft" aria-hidden>
        {bars[shown] !== undefined && `${bars[shown].label}: ${totalText(shown)}`}
      </p>
      <Disclosure summary={t.showTable}>
        <div className="max-h-96 overflow-auto" role="region" aria-label={title} tabIndex={0}>
          <table className="data-table" role="table">
            <caption className="sr-only">{title}</caption>
            <thead role="rowgroup">
              <tr role="row">
                <th role="columnheader" scope="col">
                  {labelName}
                </th>
                {series.map((name) => (
                  <th key={name} role="columnheader" scope="col" className="num">
                    {name}
                  </th>
                ))}
                <th role="columnheader" scope="col" className="num">
                  {totalName}
                </th>
              </tr>
            </thead>
            <tbody role="rowgroup">
              {bars.map((bar, index) => (
                <tr key={bar.id} role="row">
                  <th role="rowheader" scope="row">
                    {bar.label}
                  </th>
                  {series.map((name, at) => (
                    <td key={name} role="cell" data-label={name} className="num">
                      {text(index, at)}
                    </td>
                  ))}
                  <td role="cell" data-label={totalName} className="num">
                    {totalText(index)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Disclosure>
    </figure>
  );
}

/** Returns the smallest of 1, 2, 5 × 10ⁿ that is not below the largest bar. */
export function niceTop(largest: number): number {
  if (largest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 5, 10].map((times) => times * power).find((candidate) => candidate >= largest) ?? largest;
}
