// Chooses the columns of usage records.
import { commonText } from '../../../i18n/common.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { CheckField } from '../../../ui/field.js';
import { chooseColumns, fixedColumn, recordColumns, useColumns } from './record-columns.js';

export default function ColumnDialog({ onClose }: { onClose: () => void }) {
  const [t, common] = [useText(usageText), useText(commonText)];
  const columns = useColumns();
  return (
    <Dialog
      onClose={onClose}
      title={t.columns}
      description={t.columnsAbout}
      footer={
        <>
          <Button onClick={() => chooseColumns()}>{t.columnsReset}</Button>
          <Button look="primary" onClick={onClose}>
            {common.close}
          </Button>
        </>
      }
    >
      <div className="grid gap-2 sm:grid-cols-2">
        {recordColumns.map((column) => (
          <CheckField
            key={column}
            label={t[`column_${column}`]}
            checked={columns.includes(column)}
            disabled={column === fixedColumn}
            onChange={(isShown) => chooseColumns(isShown ? [...columns, column] : columns.filter((each) => each !== column))}
          />
        ))}
      </div>
    </Dialog>
  );
}
