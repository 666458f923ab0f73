// The details of an audit event.
import { Fragment } from 'react';
import type { AuditEvent } from '../../../api/users.js';
import { useTime } from '../../../format/time.js';
import { auditFields } from '../../../i18n/audit-fields.js';
import { useLanguage, useText } from '../../../i18n/text.js';
import { detailParts, type DurationUnit } from './audit-detail.js';

/** `said`: the value that another column shows already. `nameOf` returns the name of the object with an id, if the page knows it. */
export function DetailList({
  detail,
  said = '',
  nameOf = () => undefined,
}: {
  detail: AuditEvent['detail'];
  said?: string;
  nameOf?: (id: string) => string | undefined;
}) {
  const words = useText(auditFields);
  const { minute: time } = useTime();
  const language = useLanguage();
  const duration = (count: number, unit: DurationUnit): string =>
    new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
  const parts = detailParts(detail, said, { words, time, duration, nameOf });
  return (
    <span className="wrap-anywhere">
      {parts.map(({ name, text }, at) => (
        <Fragment key={at}>
          {at > 0 && ' · '}
          <span className="text-soft">
            {name}
            {words.colon}
          </span>
          {text}
        </Fragment>
      ))}
    </span>
  );
}
