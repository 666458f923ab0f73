// Notices, with a colour, an icon and a text.
import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { ApiError, isAbout } from '../api/client.js';
import { commonText } from '../i18n/common.js';
import type { ApiFault } from '../i18n/errors.js';
import { areErrorsMissing, errorWords, errorWordsAtField, fetchErrors } from '../i18n/error-text.js';
import { useText } from '../i18n/text.js';
import { Button } from './button.js';
import { classNames } from './class-names.js';
import type { ApiFieldError } from './field.js';

type Tone = 'info' | 'good' | 'warn' | 'bad';

const tones: Record<Tone, [string, typeof Info]> = {
  info: ['bg-accent-soft border-accent', Info],
  good: ['bg-good-soft border-good', CircleCheck],
  warn: ['bg-warn-soft border-warn', TriangleAlert],
  bad: ['bg-bad-soft border-bad', CircleAlert],
};

/** A notice. If `live`, screen readers announce it when it appears. */
export function Notice({
  tone = 'info',
  title,
  children,
  action,
  live = false,
}: {
  tone?: Tone;
  title?: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
  live?: boolean;
}) {
  const [look, Icon] = tones[tone];
  return (
    <div
      role={live ? (tone === 'bad' ? 'alert' : 'status') : undefined}
      className={classNames('mb-4 flex flex-wrap items-start gap-x-3 gap-y-2 rounded-md border-l-4 p-3', look)}
    >
      <Icon size={18} aria-hidden className="mt-0.5 shrink-0" />
      <div className="min-w-0 flex-1 basis-48 wrap-anywhere">
        {title !== undefined && <p className="font-semibold">{title}</p>}
        {children}
      </div>
      {action}
    </div>
  );
}

/**
 * Shows an error, with a retry button unless the requested object does not exist. A refusal says what to do instead; only other errors have a request
 * id, which the operator needs to find their cause.
 */
export function ErrorNotice({ error, onRetry, title }: { error: unknown; onRetry?: () => void; title?: string }) {
  const t = useText(commonText);
  const { message, detail, title: itsTitle, requestId, retryAfter } = describe(error, t);
  useErrorsFetched();
  const isMissing = error instanceof ApiError && error.code === 'not_found';
  // The user has signed in again since.
  if (error instanceof ApiError && error.code === 'session_unknown') return null;
  return (
    <Notice
      tone="bad"
      live
      title={title ?? itsTitle}
      action={
        onRetry &&
        !isMissing && (
          <Button size="small" onClick={onRetry}>
            {t.retry}
          </Button>
        )
      }
    >
      <p>{message}</p>
      {detail !== undefined && (
        <p lang="en" className="text-sm text-soft">
          {detail}
        </p>
      )}
      {isMissing && <p>{t.nothingHereHint}</p>}
      {retryAfter !== null && <p>{t.retryIn({ seconds: retryAfter })}</p>}
      {requestId !== null && (
        <p className="mt-1 text-sm">
          {t.requestId}: <code>{requestId}</code>
        </p>
      )}
    </Notice>
  );
}

interface Described {
  readonly title: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly requestId: string | null;
  readonly retryAfter: number | null;
}

function describe(error: unknown, t: typeof commonText.en): Described {
  if (!(error instanceof ApiError)) return { title: t.somethingFailed, message: t.pageFault, requestId: null, retryAfter: null };
  const { code, status, requestId, retryAfter } = error;
  if (code === 'unreachable' || code === 'unanswered') return { title: t.somethingFailed, message: t[code], requestId, retryAfter };
  const { text, detail } = errorWords(error);
  // A proxy may refuse a request for reasons that only the operator can find.
  const isRefusal = status >= 400 && status < 500 && code !== 'unexpected_answer';
  const title =
    code === 'not_found' ? t.nothingHere : code === 'role_not_permitted' ? t.notPermitted : isRefusal ? t.rejected : t.somethingFailed;
  return { title, message: text, detail, requestId: isRefusal ? null : requestId, retryAfter };
}

/** Loads the error texts of the current language, so that errors that occurred in another language are shown in it. */
export function useErrorsFetched(): void {
  const [, setFetched] = useState(false);
  const isMissing = areErrorsMissing();
  useEffect(() => {
    if (isMissing) void fetchErrors().then(() => setFetched(true));
  }, [isMissing]);
}

/** Returns the API's error for the field that it is about, without the name of the field. */
export const atField = (error: ApiFault): ApiFieldError => ({ error, text: errorWordsAtField(error) });

/** Returns the API's error about one field of a form. */
export const fieldError = (error: unknown, field: string): ApiFieldError | undefined =>
  isAbout(error, field) ? atField(error) : undefined;

/** Shows the error of a form, unless one of the fields shows it already. */
export function FormError({ error, fields = [] }: { error: unknown; fields?: readonly string[] }) {
  if (error === null || error === undefined) return null;
  if (fields.some((field) => isAbout(error, field))) return null;
  return <ErrorNotice error={error} />;
}

/** Shows that something is loading, once it takes long enough to notice. */
export function Loading() {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 300);
    return () => clearTimeout(timer);
  }, []);
  if (isShown) return <SkeletonRows rows={4} />;
  return <div role="status" className="py-8" />;
}

/** Takes the place of a table that is loading: lines of its height. */
export function SkeletonRows({ rows = 8 }: { rows?: number }) {
  const t = useText(commonText);
  return (
    <div role="status" className="rounded-md border border-line">
      <span className="sr-only">{t.loading}</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} aria-hidden className="flex h-9 items-center gap-4 border-t border-line px-3 first:border-t-0">
          <span className="h-3 w-32 rounded bg-hover" />
          <span className="h-3 flex-1 rounded bg-hover" />
          <span className="h-3 w-20 rounded bg-hover" />
        </div>
      ))}
    </div>
  );
}
