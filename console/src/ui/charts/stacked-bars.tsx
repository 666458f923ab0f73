// A chart of stacked bars, drawn without a library: read by pointer and keyboard, zoomed by dragging, and with the same figures in a table and as a file.
import { Download, Image } from 'lucide-react';
import { Fragment, type KeyboardEvent, type PointerEvent, memo, useId, useRef, useState } from 'react';
import { digitsAlone, roundedUsd } from '../../format/money.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { heightsOf, marksOf } from './bar-scale.js';
import { Button } from '../button.js';
import { Disclosure } from '../disclosure.js';
import { classNames } from '../class-names.js';
import { DataTable } from '../table.js';

/** A bar: its name on the axis, and a figure for each series. */
interface BarOfChart {
  /** Unique, for example the instant at which the hour begins. */
  readonly id: string;
  readonly label: string;
  /** A shorter label for the axis; by default the label. */
  readonly axisLabel?: string;
  /** In the order of the series; used only for drawing, because floats are not exact. */
  readonly values: readonly number[];
}

/** A line over the bars: what is compared with, or a limit. */
export interface LineOfChart {
  readonly name: string;
  /** For each bar; undefined where there is none. */
  readonly values: readonly (number | undefined)[];
  /** Returns an exact figure as text. */
  readonly text: (bar: number) => string;
  /** Whether the line is not dashed. */
  readonly isSolid?: boolean;
}

interface Props {
  readonly title: string;
  readonly series: readonly string[];
  readonly bars: readonly BarOfChart[];
  /** Returns an exact figure as text, for the table. */
  readonly text: (bar: number, series: number) => string;
  /** Returns a round figure for the axis, whose marks are so far apart. */
  readonly axisText: (value: number, step: number) => string;
  readonly totalText: (bar: number) => string;
  readonly labelName: string;
  readonly totalName: string;
  readonly lines?: readonly LineOfChart[];
  /** Returns what the last series combines, with values for drawing and exact figures, if it combines small ones. */
  readonly combined?: ((bar: number) => readonly { readonly name: string; readonly value: number; readonly text: string }[]) | undefined;
  /** Called with the first and the last bar of a part that was dragged over, or chosen with Shift, the arrows and Enter. */
  readonly onZoom?: (first: number, last: number) => void;
  /** Shows little more than the bars, for the histogram above a list. */
  readonly small?: boolean;
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
const width = 800;
/** How many of the combined series the card lists. */
const smallMax = 6;

/** Draws at most nine series; combine small ones first. */
export function StackedBars(props: Props) {
  const { title, series, bars, text, axisText, totalText, labelName, totalName, lines = [], onZoom, small = false } = props;
  const t = useText(commonText);
  const titleId = useId();
  const [active, setActive] = useState<number>();
  const [from, setFrom] = useState<number>();
  const area = useRef<HTMLDivElement>(null);
  const height = small ? 64 : 200;
  const totals = bars.map((bar) => bar.values.reduce((sum, value) => sum + value, 0));
  const marks = marksOf(Math.max(...totals, ...lines.flatMap(({ values }) => values.filter((value) => value !== undefined)), 0));
  const top = marks.at(-1)!;
  const markText = (mark: number): string => axisText(mark, marks[1]!);
  const step = width / Math.max(1, bars.length);
  const every = Math.max(1, Math.ceil(bars.length / 8));
  const chosen = from === undefined || active === undefined ? undefined : ([Math.min(from, active), Math.max(from, active)] as const);

  const barAt = ({ clientX }: PointerEvent): number => {
    const box = area.current!.getBoundingClientRect();
    return Math.max(0, Math.min(bars.length - 1, Math.floor(((clientX - box.left) / box.width) * bars.length)));
  };

  function zoom(): void {
    setFrom(undefined);
    if (chosen !== undefined && (chosen[0] !== chosen[1] || bars.length > 1)) onZoom?.(...chosen);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -bars.length, End: bars.length }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      if (onZoom !== undefined) setFrom(event.shiftKey ? (from ?? active) : undefined);
      setActive(Math.max(0, Math.min(bars.length - 1, (active ?? 0) + move)));
    } else if (event.key === 'Enter' && onZoom !== undefined && active !== undefined) {
      event.preventDefault();
      setFrom(undefined);
      onZoom(...(chosen ?? [active, active]));
    } else if (event.key === 'Escape' && from !== undefined) setFrom(undefined);
  }

  async function save(kind: 'csv' | 'picture'): Promise<void> {
    const file = await import('./chart-export.js');
    const colourOf = (at: number): string => `--color-series-${(at % fills.length) + 1}`;
    if (kind === 'picture') {
      file.savePicture(title, {
        title,
        series: series.map((name, at) => ({ name, colour: colourOf(at) })),
        bars: bars.map((bar) => ({ label: bar.axisLabel ?? bar.label, values: bar.values })),
        marks: marks.map((value) => ({ value, text: markText(value) })),
        lines,
      });
    } else {
      file.saveCsv(title, [
        [labelName, ...series, totalName, ...lines.map(({ name }) => name)],
        ...bars.map((bar, index) => [
          bar.label,
          ...series.map((_, at) => plainFigure(text(index, at))),
          plainFigure(totalText(index)),
          ...lines.map((line) => plainFigure(line.text(index))),
        ]),
      ]);
    }
  }

  return (
    <figure className="min-w-0">
      <figcaption className={small ? 'sr-only' : 'mb-2 flex flex-wrap items-center justify-between gap-2 font-medium'}>
        <span id={titleId}>{title}</span>
        {!small && (
          <span className="no-print flex gap-1">
            <Button size="small" look="ghost" onClick={() => void save('csv')}>
              <Download size={14} aria-hidden />
              {t.chartCsv}
            </Button>
            <Button size="small" look="ghost" onClick={() => void save('picture')}>
              <Image size={14} aria-hidden />
              {t.chartPicture}
            </Button>
          </span>
        )}
      </figcaption>
      {!small && (
        <ul className="mb-2 flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {series.map((name, index) => (
            <li key={name} className="inline-flex min-w-0 items-center gap-1.5">
              <span aria-hidden className={classNames('swatch size-3 shrink-0 rounded-sm', grounds[index % grounds.length])} />
              <span className="wrap-anywhere">{name}</span>
            </li>
          ))}
          {lines.map(({ name, isSolid = false }) => (
            <li key={name} className="inline-flex min-w-0 items-center gap-1.5">
              <span aria-hidden className={classNames('w-4 shrink-0 border-t-2 border-text', !isSolid && 'border-dashed')} />
              <span className="wrap-anywhere">{name}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2">
        <div aria-hidden className={classNames('relative text-right text-xs text-soft tabular', small ? 'h-16' : 'h-50')}>
          {/* Gives the column its width. */}
          <span className="invisible">{[markText(top), markText(marks[1] ?? 0)].reduce((a, b) => (a.length > b.length ? a : b))}</span>
          {(small ? [top] : marks).map((mark) => (
            <span key={mark} className="absolute right-0 -translate-y-1/2 leading-none" style={{ top: `${100 - (mark / top) * 100}%` }}>
              {markText(mark)}
            </span>
          ))}
        </div>
        {/* The keyboard reads the bars one by one; the table below has all of them. */}
        <div
          ref={area}
          role="group"
          tabIndex={0}
          aria-label={onZoom === undefined ? t.chartKeys({ title }) : t.chartKeysZoom({ title })}
          className={classNames('relative touch-pan-y select-none', onZoom !== undefined && 'cursor-crosshair')}
          onPointerMove={(event) => setActive(barAt(event))}
          onPointerDown={(event) => {
            if (onZoom === undefined || event.button !== 0 || event.pointerType === 'touch') return;
            event.currentTarget.setPointerCapture(event.pointerId);
            setActive(barAt(event));
            setFrom(barAt(event));
          }}
          onPointerUp={() => chosen !== undefined && (chosen[0] === chosen[1] ? setFrom(undefined) : zoom())}
          onPointerLeave={() => from === undefined && setActive(undefined)}
          onFocus={() => setActive(active ?? bars.length - 1)}
          onBlur={() => {
            setActive(undefined);
            setFrom(undefined);
          }}
          onKeyDown={onKeyDown}
        >
          <svg
            role="img"
            aria-labelledby={titleId}
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            className={classNames('w-full', small ? 'h-16' : 'h-50')}
          >
            {marks.map((mark) => (
              <line
                key={mark}
                x1="0"
                x2={width}
                y1={height - (mark / top) * height}
                y2={height - (mark / top) * height}
                className="stroke-line"
                vectorEffect="non-scaling-stroke"
              />
            ))}
            {bars.map((bar, index) => {
              let below = height;
              const isChosen = chosen !== undefined && index >= chosen[0] && index <= chosen[1];
              return (
                <g key={bar.id}>
                  {(isChosen || index === active) && (
                    <rect x={index * step} y="0" width={step} height={height} className={isChosen ? 'fill-accent-soft' : 'fill-hover'} />
                  )}
                  {heightsOf(bar.values, top, height).map((size, at) => {
                    below -= size;
                    return (
                      size > 0 && (
                        <rect
                          key={series[at]}
                          x={index * step + step * 0.12}
                          y={below}
                          width={step * 0.76}
                          height={size}
                          className={fills[at % fills.length]}
                        />
                      )
                    );
                  })}
                </g>
              );
            })}
            {lines.map(({ name, values, isSolid = false }) => (
              <polyline
                key={name}
                points={values
                  .flatMap((value, index) => (value === undefined ? [] : [`${(index + 0.5) * step},${height - (value / top) * height}`]))
                  .join(' ')}
                className="fill-transparent stroke-text"
                strokeWidth="2"
                strokeDasharray={isSolid ? undefined : '6 4'}
                vectorEffect="non-scaling-stroke"
              />
            ))}
          </svg>
          {active !== undefined && bars[active] !== undefined && (
            <Card {...{ bar: bars[active], index: active, props, at: (active + 0.5) / bars.length, total: totals[active]! }} />
          )}
        </div>
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
      <p role="status" className="sr-only">
        {active !== undefined && bars[active] !== undefined && `${bars[active].label}: ${totalText(active)}`}
      </p>
      {!small && <Table props={props} />}
    </figure>
  );
}

/** The same figures. Not rendered again for another bar under the pointer, which would take a slow machine too long. */
const Table = memo(function Table({ props: { title, series, bars, text, totalText, labelName, totalName, lines = [] } }: { props: Props }) {
  const t = useText(commonText);
  const figures = [
    ...series.map((name, at) => ({ name, text: (index: number) => text(index, at) })),
    { name: totalName, text: totalText },
    ...lines,
  ];
  return (
    <div className="mt-2">
      <Disclosure summary={t.showTable}>
        <div className="max-h-96 overflow-auto" role="region" aria-label={title} tabIndex={0}>
          <DataTable
            caption={title}
            rows={bars.map(({ id, label }, index) => ({ id, label, index }))}
            rowKey={({ id }) => id}
            columns={[
              { name: labelName, className: 'md:whitespace-nowrap', cell: ({ label }) => label },
              ...figures.map(({ name, text: textOf }) => ({
                name,
                numeric: true,
                cell: ({ index }: { index: number }) => textOf(index),
              })),
            ]}
          />
        </div>
      </Disclosure>
    </div>
  );
});

/** The details of the bar under the pointer: its total, each series with its share, and the small series that are combined. */
function Card({
  bar,
  index,
  at,
  total,
  props: { series, text, totalText, totalName, lines = [], combined },
}: {
  bar: BarOfChart;
  index: number;
  at: number;
  total: number;
  props: Props;
}) {
  const t = useText(commonText);
  const parts = bar.values.map((value, part) => ({ value, part })).filter(({ value }) => value > 0);
  const small = (combined?.(index) ?? []).filter(({ value }) => value > 0).toSorted((one, other) => other.value - one.value);
  return (
    <div
      aria-hidden
      className="pop pointer-events-none absolute top-0 z-10 w-max max-w-80 p-2.5 md:max-w-md text-sm"
      style={at > 0.5 ? { right: `calc(${(1 - at) * 100}% + 0.75rem)` } : { left: `calc(${at * 100}% + 0.75rem)` }}
    >
      <p className="font-medium">{bar.label}</p>
      <table className="mt-1 w-full tabular">
        <tbody>
          {parts
            .toSorted((one, other) => other.value - one.value)
            .map(({ value, part }) => (
              <Fragment key={part}>
                <tr>
                  <td className="max-w-40 overflow-hidden md:max-w-60 pr-3 text-ellipsis whitespace-nowrap">
                    <span className={classNames('swatch mr-1.5 inline-block size-2.5 rounded-sm', grounds[part % grounds.length])} />
                    {series[part]}
                  </td>
                  <td className="pr-2 text-right whitespace-nowrap">{shortFigure(text(index, part))}</td>
                  <td className="text-right whitespace-nowrap text-soft">{total > 0 && `${((100 * value) / total).toFixed(1)}%`}</td>
                </tr>
                {part === series.length - 1 && (
                  <>
                    {small.slice(0, smallMax).map((each, at) => (
                      <tr key={at} className="text-soft">
                        <td className="max-w-40 overflow-hidden md:max-w-60 pr-3 pl-4 text-ellipsis whitespace-nowrap">{each.name}</td>
                        <td className="pr-2 text-right whitespace-nowrap">{shortFigure(each.text)}</td>
                        <td />
                      </tr>
                    ))}
                    {small.length > smallMax && (
                      <tr className="text-soft">
                        <td className="pl-4">{t.more({ count: small.length - smallMax })}</td>
                      </tr>
                    )}
                  </>
                )}
              </Fragment>
            ))}
          <tr className="border-t border-line font-medium">
            <td className="pr-3">{totalName}</td>
            <td className="pr-2 text-right whitespace-nowrap">{shortFigure(totalText(index))}</td>
            <td />
          </tr>
          {lines.map((line) => (
            <tr key={line.name} className="text-soft">
              <td className="pr-3">{line.name}</td>
              <td className="pr-2 text-right whitespace-nowrap">{shortFigure(line.text(index))}</td>
              <td />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Rounds an amount for the card; the table has the exact one. */
function shortFigure(text: string): string {
  return text.includes('$') ? roundedUsd(plainFigure(text), digitsAlone(plainFigure(text))) : text;
}

/** Returns a figure as spreadsheets read it: without the sign of the currency and without separators. */
function plainFigure(text: string): string {
  return /^[−$\d][\d,.$]*$/.test(text) ? text.replace('−', '-').replaceAll(/[$,]/g, '') : text;
}
