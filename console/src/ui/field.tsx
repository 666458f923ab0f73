// A control with its label, hint and error, associated for screen readers.
import { type ComponentProps, type ReactNode, useId, useState } from 'react';
import { useText } from '../i18n/text.js';
import { commonText } from '../i18n/common.js';
import { classNames } from './class-names.js';

/** The API's error about the value of a field. It is shown until the field is edited, because it is about the value that was sent. */
export interface ApiFieldError {
  readonly error: unknown;
  readonly text: string;
}

/** An error about the value of a field; that of the form itself is a text, which the form removes. */
export type FieldError = string | ApiFieldError;

interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** The error of the value. */
  readonly error?: FieldError | undefined;
  readonly optional?: boolean;
  readonly className?: string;
  readonly hideLabel?: boolean;
}

interface ControlIds {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** Returns the text of an error while it is to be shown, and the listener for edits of the field. */
export function useFieldError(error: FieldError | undefined): readonly [text: string | undefined, onInput: () => void] {
  const [edited, setEdited] = useState<unknown>();
  if (error === undefined || typeof error === 'string') return [error, () => undefined];
  return [error.error === edited ? undefined : error.text, () => setEdited(error.error)];
}

/** Any control. `children` gets the attributes that associate it with its label. */
export function Field({
  label,
  hint,
  error,
  optional = false,
  className,
  hideLabel = false,
  children,
}: FieldProps & { children: (ids: ControlIds) => ReactNode }) {
  const id = useId();
  const t = useText(commonText);
  const [shown, onInput] = useFieldError(error);
  const described = [hint === undefined ? '' : `${id}-hint`, shown === undefined ? '' : `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className={classNames('flex flex-col gap-1', className)} onInput={onInput}>
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'text-sm font-medium'}>
        {label}
        {optional && <span className="ml-1.5 font-normal text-soft">({t.optional})</span>}
      </label>
      {children({
        id,
        'aria-describedby': described === '' ? undefined : described,
        'aria-invalid': shown === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-soft">
          {hint}
        </p>
      )}
      {shown !== undefined && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {shown}
        </p>
      )}
    </div>
  );
}

/** The latest date that the browser accepts, because a longer year is most likely a typo. One more day is left for the exclusive end of a range. */
const dateMax: Readonly<Record<string, string>> = { date: '9999-12-30', 'datetime-local': '9999-12-30T23:59' };

/** Separates the properties of a field from those of its control. */
function separated<P extends FieldProps>({ label, hint, error, optional, className, hideLabel, ...control }: P) {
  return [{ label, hint, error, optional, className, hideLabel }, control] as const;
}

/** A one-line text field. */
export function TextField(props: FieldProps & Omit<ComponentProps<'input'>, 'className' | 'id'>) {
  const [field, rest] = separated(props);
  return (
    <Field {...field}>
      {(ids) => <input {...ids} className="control" type="text" autoComplete="off" max={dateMax[rest.type ?? '']} {...rest} />}
    </Field>
  );
}

/** The field of a required email address. */
export function EmailField(props: ComponentProps<typeof TextField>) {
  return <TextField type="email" name="email" autoCapitalize="none" spellCheck={false} required {...props} />;
}

/** The field of a required password. */
export function PasswordField(props: ComponentProps<typeof TextField>) {
  return <TextField type="password" name="password" required {...props} />;
}

/** A multi-line text field. */
export function TextAreaField(props: FieldProps & Omit<ComponentProps<'textarea'>, 'className' | 'id'>) {
  const [field, rest] = separated(props);
  return <Field {...field}>{(ids) => <textarea {...ids} className="control" rows={3} {...rest} />}</Field>;
}

/** A choice among a few options, with the browser's own list. */
export function SelectField<T extends string>(
  props: FieldProps & {
    value: T;
    onChange: (value: T) => void;
    options: readonly { readonly value: T; readonly label: string }[];
    disabled?: boolean;
  },
) {
  const [field, { value, onChange, options, disabled }] = separated(props);
  return (
    <Field {...field}>
      {(ids) => (
        <select {...ids} className="control" value={value} disabled={disabled} onChange={(event) => onChange(event.target.value as T)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A checkbox. */
export function CheckField({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: ReactNode;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="flex items-start gap-2.5">
      <input
        id={id}
        type="checkbox"
        className="mt-1 size-4.5 shrink-0 accent-accent"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-sm text-soft">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
