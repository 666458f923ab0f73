// AccountAudit.
import { PageHeader } from '../../ui/layout.js';

export default function AccountAudit() {
  return <PageHeader title="Tollgate" />;
}
