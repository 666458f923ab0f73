// OperatorAudit.
import { PageHeader } from '../../ui/layout.js';

export default function OperatorAudit() {
  return <PageHeader title="Tollgate" />;
}
