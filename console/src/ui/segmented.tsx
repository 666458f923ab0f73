// A choice among a few options, all of them visible.
import { useId } from 'react';
import { classNames } from './class-names.js';

/** A row of radio buttons that look like one control. */
export function Segmented<T extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: T;
  onChange: (value: T) => void;
  options: readonly { readonly value: T; readonly label: string }[];
}) {
  const name = useId();
  return (
    <fieldset className="inline-flex max-w-full flex-wrap rounded-md border border-edge bg-ground p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className={classNames(
            'relative inline-flex min-h-8.5 cursor-pointer items-center rounded-[0.4rem] px-2.5 text-sm has-focus-visible:outline-2 has-focus-visible:outline-accent',
            option.value === value ? 'bg-accent-soft font-medium text-accent' : 'text-text hover:bg-hover',
          )}
        >
          <input
            type="radio"
            className="absolute inset-0 cursor-pointer opacity-0"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}
